#include "inject/context.h"

#include "file/tar.h"
#include "inject/image.h"
#include "limits.h"

static int dir(struct tar *t, const char *name)
{
	struct tar_entry e = {.type = TAR_DIR, .mode = 0755, .name = name};

	return tar_header(t, &e);
}

static int file(struct tar *t, const char *name, unsigned mode, size_t size)
{
	struct tar_entry e = {.type = TAR_FILE, .mode = mode, .name = name, .size = size};

	return tar_header(t, &e);
}

/* The path that unmodified OpenHands backends execute. */
static int link_drop_in(struct tar *t)
{
	static const char *const dirs[] = {
		"rootfs/openhands/",
		"rootfs/openhands/micromamba/",
		"rootfs/openhands/micromamba/bin/",
	};
	struct tar_entry e = {
		.type = TAR_LINK,
		.mode = 0777,
		.name = "rootfs/openhands/micromamba/bin/micromamba",
		.target = IMAGE_CLIENT,
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(dirs) && !r; i++)
		r = dir(t, dirs[i]);
	return r ? r : tar_header(t, &e);
}

/* In byte order, as the archive has it: bin/ before the client. */
static int head(struct context *c, struct tar *t, const struct context_files *f)
{
	int r = file(t, "Dockerfile", 0644, f->dockerfile.n);

	if (r)
		return r;
	buf_str(&c->head, f->dockerfile);
	tar_pad(t);
	r = dir(t, "rootfs/");
	if (!r)
		r = dir(t, "rootfs/.od/");
	if (r || !f->busybox.n)
		return r;
	r = dir(t, "rootfs/.od/bin/");
	return r ? r : file(t, "rootfs/.od/bin/busybox", 0755, f->busybox.n);
}

static int middle(struct tar *t, const struct context_files *f)
{
	tar_pad(t);
	/* Nobody writes to it, root included, and every user may run it. */
	return file(t, "rootfs/.od/od-runtime-client", 0555, f->client.n);
}

static int tail(struct tar *t, const struct context_files *f)
{
	int r;

	tar_pad(t);
	r = f->drop_in ? link_drop_in(t) : 0;
	tar_end(t);
	return r;
}

int context_init(struct context *c, const struct context_files *f)
{
	struct tar t;
	int r;

	*c = (struct context){
		.head = BUF_INIT(INJECT_DOCKERFILE_MAX + 8 * TAR_BLOCK),
		.middle = BUF_INIT(4 * TAR_BLOCK),
		.tail = BUF_INIT(16 * TAR_BLOCK),
	};
	tar_init(&t, &c->head);
	r = head(c, &t, f);
	t.out = &c->middle;
	if (!r)
		r = middle(&t, f);
	t.out = &c->tail;
	if (!r)
		r = tail(&t, f);
	if (!r)
		r = c->head.err ? c->head.err : c->middle.err;
	if (!r)
		r = c->tail.err;
	if (r) {
		context_free(c);
		return r;
	}
	c->parts[0] = buf_view(&c->head);
	c->parts[1] = f->busybox;
	c->parts[2] = buf_view(&c->middle);
	c->parts[3] = f->client;
	c->parts[4] = buf_view(&c->tail);
	return 0;
}

void context_free(struct context *c)
{
	buf_free(&c->head);
	buf_free(&c->middle);
	buf_free(&c->tail);
}
