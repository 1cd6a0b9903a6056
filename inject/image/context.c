#include "inject/image/context.h"

#include "limits.h"

/* The builder uses no other file of the folder. */
#define IGNORE "*\n!Dockerfile\n!plugins\n!rootfs\n"

static int context_put_text(struct tar *t, const char *name, struct str text)
{
	const struct tar_entry e = {
		.type = TAR_FILE, .mode = 0644, .name = name, .size = text.n};
	int r = tar_write_header(t, &e);

	if (!r) {
		buf_str(t->out, text);
		tar_pad(t);
	}
	return r;
}

static int context_put_client(
	struct context *c, struct tar *t, const struct context_files *f)
{
	const struct tar_entry root = {.type = TAR_DIR, .mode = 0755, .name = "rootfs/"};
	const struct rootfs tree = {
		.prefix = "rootfs/",
		.client = f->client,
		.busybox = f->busybox,
		.plugins_program = f->plugins_program,
		.drop_in = f->drop_in,
	};
	int r;

	t->out = &c->root[0];
	r = tar_write_header(t, &root);
	for (size_t i = 0; i < ROOTFS_PARTS && !r; i++) {
		t->out = &c->root[i];
		r = rootfs_write_part(&tree, i, t, &c->parts[2 * i + 2]);
	}
	return r;
}

static void context_end_archive(struct context *c, struct tar *t)
{
	t->out = &c->root[ROOTFS_PARTS - 1];
	tar_end(t);
}

static int context_write_entries(struct context *c, const struct context_files *f)
{
	const struct tar_entry top = {.type = TAR_DIR, .mode = 0755, .name = "plugins/"};
	struct tar t;
	int r = 0;

	tar_init(&t, &c->text);
	if (f->ignore)
		r = context_put_text(&t, ".dockerignore", STR(IGNORE));
	if (!r)
		r = context_put_text(&t, "Dockerfile", f->dockerfile);
	if (!r && f->plugins && f->plugins->n)
		r = tar_write_header(&t, &top);
	if (!r && f->client.n)
		r = context_put_client(c, &t, f);
	else if (!r)
		context_end_archive(c, &t);
	return r;
}

static int context_get_error(const struct context *c)
{
	int r = c->text.err;

	for (size_t i = 0; i < ROOTFS_PARTS && !r; i++)
		r = c->root[i].err;
	return r;
}

int context_init(struct context *c, const struct context_files *f)
{
	int r;

	*c = (struct context){
		.text = BUF_INIT(INJECT_DOCKERFILE_MAX + 8 * TAR_BLOCK),
		.plugins = f->plugins,
	};
	for (size_t i = 0; i < ROOTFS_PARTS; i++)
		buf_init(&c->root[i], 16 * TAR_BLOCK);
	r = context_write_entries(c, f);
	if (!r)
		r = context_get_error(c);
	if (r) {
		context_free(c);
		return r;
	}
	c->parts[0] = buf_view(&c->text);
	for (size_t i = 0; i < ROOTFS_PARTS; i++)
		c->parts[2 * i + 1] = buf_view(&c->root[i]);
	return 0;
}

int context_put(const struct context *c, plugin_put_fn *put, void *arg)
{
	int r = put(arg, c->parts[0]);

	for (size_t i = 0; c->plugins && i < c->plugins->n && !r; i++)
		r = plugin_put_archive(&c->plugins->list[i], put, arg);
	for (size_t i = 1; i < CONTEXT_PARTS && !r; i++)
		if (c->parts[i].n)
			r = put(arg, c->parts[i]);
	return r;
}

void context_free(struct context *c)
{
	buf_free(&c->text);
	for (size_t i = 0; i < ROOTFS_PARTS; i++)
		buf_free(&c->root[i]);
}
