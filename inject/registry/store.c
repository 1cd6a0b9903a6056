#include "inject/registry/store.h"

#include "base/fd.h"
#include "base/hash.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "limits.h"

#include <errno.h>
#include <unistd.h>

enum { INJECT_COPY = 32 << 20 }; /* bytes of a layer, copied by the kernel at once */

static const struct store_ops *const kinds[] = {
	&store_oci,
	&store_archive,
	&store_registry,
};

static const struct store_ops *store_find_kind(struct str text, struct str *name)
{
	*name = text;
	if (str_find_byte(text, ':') < text.n) {
		struct str word = str_cut(name, ':');

		for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
			if (str_eq(word, str_c(kinds[i]->kind)))
				return kinds[i];
	}
	return NULL;
}

int store_open(
	struct image_store *s, struct str text, enum store_mode mode, struct str tag)
{
	s->text = text;
	s->mode = mode;
	s->tag = tag;
	arena_init(&s->arena, INJECT_STORE_MAX);
	s->ops = store_find_kind(text, &s->name);
	if (!s->ops)
		return out_fail_usage("begin the name with oci:, archive: or registry:",
			"'%.*s' does not name a kind of image store", STR_ARG(text));
	if (!s->name.n)
		return out_fail_usage(
			"give for example oci:DIR, archive:FILE or registry:HOST/NAME",
			"'%.*s' does not name an image store", STR_ARG(text));
	return s->ops->open(s);
}

void store_close(struct image_store *s)
{
	if (s->ops)
		s->ops->close(s);
	arena_reset(&s->arena);
	*s = (struct image_store){0};
}

/* --- Digests -------------------------------------------------------------------- */

struct digest {
	bool wide; /* SHA-512 */
	struct sha256 narrow;
	br_sha512_context long_one;
};

enum { SHA512_LEN = 64 };

bool digest_is_valid(struct str s)
{
	struct str algorithm = str_cut(&s, ':');
	size_t want = 0;

	if (str_eq(algorithm, STR("sha256")))
		want = 2 * (size_t)SHA256_LEN;
	else if (str_eq(algorithm, STR("sha512")))
		want = 2 * (size_t)SHA512_LEN;
	if (!want || s.n != want)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= '0' && s.p[i] <= '9') ||
			    (s.p[i] >= 'a' && s.p[i] <= 'f')))
			return false;
	return true;
}

static void store_digest_init(struct digest *d, const char *like)
{
	d->wide = str_starts(str_c(like), STR("sha512:"));
	if (d->wide)
		br_sha512_init(&d->long_one);
	else
		sha256_init(&d->narrow);
}

static void store_digest_update(struct digest *d, struct str piece)
{
	if (d->wide)
		br_sha512_update(&d->long_one, piece.p, piece.n);
	else
		sha256_update(&d->narrow, piece.p, piece.n);
}

static void store_digest_final(const struct digest *d, char out[DIGEST_MAX])
{
	uint8_t bytes[SHA512_LEN];

	if (d->wide)
		br_sha512_out(&d->long_one, bytes);
	else
		sha256_final(&d->narrow, bytes);
	memcpy(out, d->wide ? "sha512:" : "sha256:", 7);
	hex_encode(bytes, d->wide ? SHA512_LEN : SHA256_LEN, out + 7);
}

void content_from_bytes(struct str bytes, struct content *c)
{
	struct digest d;

	store_digest_init(&d, "");
	store_digest_update(&d, bytes);
	store_digest_final(&d, c->digest);
	c->size = bytes.n;
}

/* --- Reading -------------------------------------------------------------------- */

int sink_put_buf(void *arg, struct str piece)
{
	struct buf *b = arg;

	buf_str(b, piece);
	return b->err;
}

/* The check between a store and the sink of the reader. */
struct check {
	const struct content *want;
	struct sink to;
	struct digest digest;
	uint64_t got;
	bool longer;
};

static int store_check_piece(void *arg, struct str piece)
{
	struct check *k = arg;

	if (stop_get_signal())
		return -EINTR;
	if (piece.n > k->want->size - k->got) {
		k->longer = true;
		return ERR_LIMIT;
	}
	k->got += piece.n;
	store_digest_update(&k->digest, piece);
	return k->to.put(k->to.arg, piece);
}

static int store_fail_content(
	const struct image_store *s, const struct content *c, const char *why)
{
	return out_fail("fetch the image again: this copy is damaged", "%.*s: %s %s",
		STR_ARG(s->text), c->digest, why);
}

static int store_read_content(
	struct image_store *s, const struct content *c, struct sink to)
{
	struct store_place p;
	int r;

	if (!s->ops->locate)
		return s->ops->fetch(s, c, to);
	r = s->ops->locate(s, c, &p);
	if (r)
		return r;
	r = store_feed_file(p.fd, p.at, p.size, s->text, to);
	store_place_close(&p);
	return r;
}

int store_fetch(struct image_store *s, const struct content *c, struct sink to)
{
	struct check k = {.want = c, .to = to};
	const struct sink between = {store_check_piece, &k};
	char is[DIGEST_MAX];
	int r;

	if (!digest_is_valid(str_c(c->digest)))
		return store_fail_content(s, c, "is not a supported digest");
	store_digest_init(&k.digest, c->digest);
	r = store_read_content(s, c, between);
	if (k.longer)
		return store_fail_content(s, c, "is longer than its descriptor says");
	if (r)
		return r;
	if (k.got < c->size)
		return store_fail_content(s, c, "is shorter than its descriptor says");
	store_digest_final(&k.digest, is);
	if (strcmp(is, c->digest) != 0)
		return store_fail_content(
			s, c, "is damaged: its content has another digest");
	return 0;
}

int store_feed(const struct store_item *i, struct sink to)
{
	return i->bytes.p ? to.put(to.arg, i->bytes)
			  : store_fetch(i->from, &i->content, to);
}

void store_place_close(struct store_place *p)
{
	if (p->owns_fd)
		fd_close(&p->fd);
}

int store_locate(const struct store_item *i, struct store_place *p)
{
	const struct image_store *s = i->from;
	struct store_place is;
	int r;

	if (i->bytes.p || !s->ops->locate || s->verify || i->content.size <= INJECT_PIECE)
		return 1;
	r = s->ops->locate(i->from, &i->content, &is);
	if (r)
		return r;
	if (is.size != i->content.size) {
		store_place_close(&is);
		return store_fail_content(s, &i->content,
			is.size > i->content.size
				? "is longer than its descriptor says"
				: "is shorter than its descriptor says");
	}
	if (is.is_guessed) {
		store_place_close(&is);
		return 1;
	}
	*p = is;
	return 0;
}

int store_copy(const struct store_place *p, int fd)
{
	uint64_t left = p->size;
	off_t at = (off_t)p->at;

	while (left) {
		size_t most = left < INJECT_COPY ? (size_t)left : INJECT_COPY;
		ssize_t got;

		if (stop_get_signal())
			return -EINTR;
		got = copy_file_range(p->fd, &at, fd, NULL, most, 0);
		if (got < 0 && errno == EINTR)
			continue;
		/*
		 * The kernel or the file systems do not support it: the bytes are read
		 * instead.
		 */
		if (got <= 0 && left == p->size)
			return 1;
		if (got <= 0)
			return got ? -errno : ERR_CLOSED;
		left -= (uint64_t)got;
	}
	return 0;
}

int store_feed_file(int fd, uint64_t at, uint64_t n, struct str text, struct sink to)
{
	struct buf piece = BUF_INIT(INJECT_PIECE);
	char *room = buf_reserve(&piece, INJECT_PIECE);
	int r = room ? 0 : piece.err;

	while (!r && n) {
		size_t most = n < INJECT_PIECE ? (size_t)n : INJECT_PIECE;
		ssize_t got = fd_read_at(fd, at, room, most);

		if (got < 0)
			r = out_fail("check the image in its store, or build it again",
				"reading %.*s: %s", STR_ARG(text), err_text((int)got));
		if (got <= 0)
			break;
		r = to.put(to.arg, str_make(room, (size_t)got));
		at += (uint64_t)got;
		n -= (uint64_t)got;
	}
	buf_free(&piece);
	return r;
}

int store_manifest(struct image_store *s, struct content *c, struct buf *out)
{
	size_t from = out->n;
	struct content is = *c;
	struct digest d;
	struct str text;
	int r;

	if (c->digest[0] && !digest_is_valid(str_c(c->digest)))
		return store_fail_content(s, c, "is not a supported digest");
	r = s->ops->manifest(s, c->digest, out, is.media);
	if (r)
		return r;
	text = str_make(out->p + from, out->n - from);
	store_digest_init(&d, c->digest);
	store_digest_update(&d, text);
	store_digest_final(&d, is.digest);
	is.size = text.n;
	if (c->digest[0] && c->size && c->size != is.size)
		return store_fail_content(
			s, c, "has another size than its descriptor says");
	if (c->digest[0] && strcmp(is.digest, c->digest) != 0)
		return store_fail_content(
			s, c, "is damaged: its content has another digest");
	/* The media type of a place must equal that in the list. */
	if (c->media[0] && is.media[0] && strcmp(c->media, is.media) != 0)
		return store_fail_content(
			s, c, "has another mediaType than its descriptor says");
	*c = is;
	return 0;
}

/* --- Writing -------------------------------------------------------------------- */

int store_write(struct image_store *s, const struct store_item *items, size_t n)
{
	return s->ops->write(s, items, n);
}
