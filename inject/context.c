#include "inject/context.h"

#include "inject/rootfs.h"
#include "limits.h"

/* Nothing else in the folder is for the builder. */
#define IGNORE "*\n!Dockerfile\n!plugins\n!rootfs\n"

static int put_text(struct tar *t, const char *name, struct str text)
{
	const struct tar_entry e = {
		.type = TAR_FILE, .mode = 0644, .name = name, .size = text.n};
	int r = tar_header(t, &e);

	if (!r) {
		buf_str(t->out, text);
		tar_pad(t);
	}
	return r;
}

static int put_client(struct context *c, struct tar *t, const struct context_files *f)
{
	const struct tar_entry root = {.type = TAR_DIR, .mode = 0755, .name = "rootfs/"};
	const struct rootfs tree = {
		.prefix = "rootfs/",
		.client = f->client,
		.busybox = f->busybox,
		.drop_in = f->drop_in,
	};
	int r;

	t->out = &c->head;
	r = tar_header(t, &root);
	if (!r)
		r = rootfs_head(&tree, t);
	t->out = &c->middle;
	if (!r)
		r = rootfs_middle(&tree, t);
	t->out = &c->tail;
	return r ? r : rootfs_tail(&tree, t);
}

static void end(struct context *c, struct tar *t)
{
	t->out = &c->tail;
	tar_end(t);
}

static int lay_out(struct context *c, const struct context_files *f)
{
	const struct tar_entry top = {.type = TAR_DIR, .mode = 0755, .name = "plugins/"};
	struct tar t;
	int r = 0;

	tar_init(&t, &c->text);
	if (f->ignore)
		r = put_text(&t, ".dockerignore", STR(IGNORE));
	if (!r)
		r = put_text(&t, "Dockerfile", f->dockerfile);
	if (!r && f->plugins && f->plugins->n)
		r = tar_header(&t, &top);
	if (!r && f->client.n)
		r = put_client(c, &t, f);
	else if (!r)
		end(c, &t);
	return r;
}

static int first_error(const struct context *c)
{
	const struct buf *all[] = {&c->text, &c->head, &c->middle, &c->tail};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i]->err)
			return all[i]->err;
	return 0;
}

int context_init(struct context *c, const struct context_files *f)
{
	int r;

	*c = (struct context){
		.text = BUF_INIT(INJECT_DOCKERFILE_MAX + 8 * TAR_BLOCK),
		.head = BUF_INIT(8 * TAR_BLOCK),
		.middle = BUF_INIT(4 * TAR_BLOCK),
		.tail = BUF_INIT(16 * TAR_BLOCK),
	};
	r = lay_out(c, f);
	if (!r)
		r = first_error(c);
	if (r) {
		context_free(c);
		return r;
	}
	c->plugins = f->plugins;
	c->parts[0] = buf_view(&c->text);
	c->parts[1] = buf_view(&c->head);
	if (f->client.n) {
		c->parts[2] = f->busybox;
		c->parts[3] = buf_view(&c->middle);
		c->parts[4] = f->client;
	}
	c->parts[5] = buf_view(&c->tail);
	return 0;
}

int context_put(const struct context *c, plugin_put_fn *put, void *arg)
{
	int r = put(arg, c->parts[0]);

	for (size_t i = 0; c->plugins && i < c->plugins->n && !r; i++)
		r = plugin_put(&c->plugins->list[i], put, arg);
	for (size_t i = 1; i < CONTEXT_PARTS && !r; i++)
		if (c->parts[i].n)
			r = put(arg, c->parts[i]);
	return r;
}

void context_free(struct context *c)
{
	buf_free(&c->text);
	buf_free(&c->head);
	buf_free(&c->middle);
	buf_free(&c->tail);
}
