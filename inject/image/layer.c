#include "inject/image/layer.h"

#include "base/hash.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <zlib.h>

/* The level and the version of zlib determine the layer's digest. */
enum { LEVEL = 9, GZIP_WINDOW = 15 + 16, OUT_STEP = 64 << 10 };

struct packer {
	struct layer *layer;
	z_stream z;
	struct sha256 hash; /* of the unpacked bytes */
	uint64_t in;
};

static int layer_deflate(struct packer *p, struct str s, int flush)
{
	struct buf *out = &p->layer->gzip;

	sha256_update(&p->hash, s.p, s.n);
	p->in += s.n;
	p->z.next_in = (Bytef *)(uintptr_t)s.p;
	p->z.avail_in = (uInt)s.n;
	do {
		char *room = buf_reserve(out, OUT_STEP);

		if (!room)
			return out->err;
		p->z.next_out = (Bytef *)room;
		p->z.avail_out = OUT_STEP;
		/*
		 * deflate cannot fail here: it has output space, and its state is valid.
		 */
		(void)deflate(&p->z, flush);
		buf_commit(out, OUT_STEP - p->z.avail_out);
	} while (p->z.avail_out == 0);
	return out->err;
}

/* Packs a part: the headers in head, then the content that follows them. */
static int layer_pack_part(struct packer *p, struct buf *head, struct str content, int r)
{
	if (!r)
		r = head->err;
	if (!r)
		r = layer_deflate(p, buf_view(head), Z_NO_FLUSH);
	if (!r)
		r = layer_deflate(p, content, Z_NO_FLUSH);
	buf_reset(head);
	return r;
}

static int layer_pack_rootfs(struct packer *p, const struct rootfs *f)
{
	struct buf head = BUF_INIT(16 * TAR_BLOCK);
	struct str bytes = {0};
	struct tar t;
	int r = 0;

	tar_init(&t, &head);
	for (size_t i = 0; i < ROOTFS_PARTS && !r; i++) {
		r = rootfs_write_part(f, i, &t, &bytes);
		r = layer_pack_part(p, &head, bytes, r);
	}
	if (!r)
		r = layer_deflate(p, (struct str){0}, Z_FINISH);
	buf_free(&head);
	return r;
}

int layer_make(struct layer *l, const struct rootfs *files)
{
	struct packer p = {.layer = l};
	uint8_t digest[SHA256_LEN];
	int r;

	*l = (struct layer){.gzip = BUF_INIT(INJECT_PROGRAM_MAX)};
	/* zlib's default gzip header: no name, time 0. */
	if (deflateInit2(&p.z, LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) !=
		Z_OK)
		return -ENOMEM;
	sha256_init(&p.hash);
	r = layer_pack_rootfs(&p, files);
	deflateEnd(&p.z);
	if (r)
		return r;
	sha256_final(&p.hash, digest);
	memcpy(l->unpacked.digest, "sha256:", 7);
	hex_encode(digest, sizeof(digest), l->unpacked.digest + 7);
	l->unpacked.size = p.in;
	return 0;
}

void layer_free(struct layer *l)
{
	buf_free(&l->gzip);
	*l = (struct layer){0};
}
