/* Copies files into a container through PUT /containers/{id}/archive. */
#include "inject/image/client_files.h"

#include "inject/image/rootfs.h"

enum { PARTS = 2 * ROOTFS_PARTS };

int client_files_put_archive(const struct engine *e, const char *id, const char *path,
	const struct str *parts, size_t parts_n, struct reply *reply)
{
	struct target target;
	struct http_client_request q = {
		.method = "PUT",
		.target = &target,
		.type = "application/x-tar",
		.parts = parts,
		.parts_n = parts_n,
	};
	struct http_client c;
	int r;

	/* With this parameter no folder of ours replaces a link in its place. */
	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/containers/%s/archive?path=%s&noOverwriteDirNonDir=1", id,
		path);
	http_client_begin(&c, -1, 0, false);
	r = engine_stream(e, &c, &q, INJECT_ENGINE_MS);
	if (!r) {
		reply->status = c.head.status;
		r = http_client_read_all(&c, &reply->body);
		r = r ? engine_fail(e, r) : 0;
	}
	http_client_close(&c);
	target_free(&target);
	return r;
}

int client_files_put(const struct engine *e, const char *id, const struct client_files *f,
	struct reply *reply)
{
	const struct rootfs tree = {
		.prefix = "",
		.client = f->client,
		.busybox = f->busybox,
		.plugins_program = f->plugins_program,
		.drop_in = f->drop_in,
		.inside = f->volume,
	};
	struct str parts[PARTS] = {0};
	struct buf text[ROOTFS_PARTS];
	struct tar t;
	int r = 0;

	reply_init(reply);
	tar_init(&t, &text[0]);
	for (size_t i = 0; i < ROOTFS_PARTS; i++) {
		buf_init(&text[i], 16 * TAR_BLOCK);
		t.out = &text[i];
		if (!r)
			r = rootfs_write_part(&tree, i, &t, &parts[2 * i + 1]);
		if (!r)
			r = text[i].err;
		parts[2 * i] = buf_view(&text[i]);
	}
	/* Podman includes volumes only if the path itself leads into a volume. */
	if (!r)
		r = client_files_put_archive(
			e, id, f->volume ? "/.od" : "/", parts, PARTS, reply);
	for (size_t i = 0; i < ROOTFS_PARTS; i++)
		buf_free(&text[i]);
	return r;
}
