#include "inject/context.h"

#include "inject/rootfs.h"
#include "limits.h"

static int head(struct context *c, struct tar *t, const struct context_files *f,
	const struct rootfs *tree)
{
	const struct tar_entry text = {
		.type = TAR_FILE,
		.mode = 0644,
		.name = "Dockerfile",
		.size = f->dockerfile.n,
	};
	const struct tar_entry root = {.type = TAR_DIR, .mode = 0755, .name = "rootfs/"};
	int r = tar_header(t, &text);

	if (r)
		return r;
	buf_str(&c->head, f->dockerfile);
	tar_pad(t);
	r = tar_header(t, &root);
	return r ? r : rootfs_head(tree, t);
}

int context_init(struct context *c, const struct context_files *f)
{
	const struct rootfs tree = {
		.prefix = "rootfs/",
		.client = f->client,
		.busybox = f->busybox,
		.drop_in = f->drop_in,
	};
	struct tar t;
	int r;

	*c = (struct context){
		.head = BUF_INIT(INJECT_DOCKERFILE_MAX + 8 * TAR_BLOCK),
		.middle = BUF_INIT(4 * TAR_BLOCK),
		.tail = BUF_INIT(16 * TAR_BLOCK),
	};
	tar_init(&t, &c->head);
	r = head(c, &t, f, &tree);
	t.out = &c->middle;
	if (!r)
		r = rootfs_middle(&tree, &t);
	t.out = &c->tail;
	if (!r)
		r = rootfs_tail(&tree, &t);
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
