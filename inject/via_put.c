/* Files put into a container through PUT /containers/{id}/archive. */
#include "inject/via.h"

#include "inject/rootfs.h"

enum { PARTS = 5 };

static int send(const struct engine *e, const char *id, const char *path,
	const struct str *parts, struct reply *reply)
{
	struct target target;
	struct call_request q = {
		.method = "PUT",
		.target = &target,
		.type = "application/x-tar",
		.parts = parts,
		.parts_n = PARTS,
	};
	struct call c;
	int r;

	/* Lest a link in the place of a folder of ours be replaced by that folder. */
	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/containers/%s/archive?path=%s&noOverwriteDirNonDir=1", id,
		path);
	call_begin(&c, -1, 0, false);
	r = engine_stream(e, &c, &q, INJECT_ENGINE_MS);
	if (!r) {
		reply->status = c.head.status;
		r = call_collect(&c, &reply->body);
		r = r ? engine_fail(e, r) : 0;
	}
	call_close(&c);
	target_free(&target);
	return r;
}

int via_put(const struct engine *e, const char *id, const struct via_files *f,
	struct reply *reply)
{
	const struct rootfs tree = {
		.prefix = "",
		.client = f->client,
		.busybox = f->busybox,
		.drop_in = f->drop_in,
		.inside = f->volume,
	};
	struct buf text[3];
	struct tar t;
	int r;

	reply_init(reply);
	for (size_t i = 0; i < ARRAY_LEN(text); i++)
		buf_init(&text[i], 16 * TAR_BLOCK);
	tar_init(&t, &text[0]);
	r = rootfs_head(&tree, &t);
	t.out = &text[1];
	if (!r)
		r = rootfs_middle(&tree, &t);
	t.out = &text[2];
	if (!r)
		r = rootfs_tail(&tree, &t);
	for (size_t i = 0; i < ARRAY_LEN(text) && !r; i++)
		r = text[i].err;
	if (!r) {
		const struct str parts[PARTS] = {buf_view(&text[0]), f->busybox,
			buf_view(&text[1]), f->client, buf_view(&text[2])};

		/* Podman shows volumes below the path only where that leads into one. */
		r = send(e, id, f->volume ? "/.od" : "/", parts, reply);
	}
	for (size_t i = 0; i < ARRAY_LEN(text); i++)
		buf_free(&text[i]);
	return r;
}
