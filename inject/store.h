/*
 * A place that holds images: an OCI layout folder, an archive, a registry. One table
 * of operations per kind; store.c has the list of kinds, and does for all of them
 * what no kind may get wrong: sizes and digests are checked while the bytes pass.
 *
 * Errors have been told to the user by whoever found them: every function returns 0,
 * -ENOMEM, -EINTR or FAIL_*.
 */
#ifndef INJECT_STORE_H
#define INJECT_STORE_H

#include "base/arena.h"
#include "base/buf.h"

enum {
	DIGEST_MAX = 136, /* "sha512:", 128 digits, NUL */
	MEDIA_MAX = 128,  /* RFC 6838 allows 127 */
};

/* What one content is known by (OCI image specification, "Descriptor"). */
struct content {
	char digest[DIGEST_MAX]; /* "sha256:" or "sha512:" and lower-case digits */
	char media[MEDIA_MAX];   /* media type; empty when not known */
	uint64_t size;           /* exactly; bytes */
};

/* Where the bytes of a content go, in order. An error ends the transfer. */
struct sink {
	int (*put)(void *arg, struct str piece);
	void *arg;
};

/* Where the bytes of a content lie, in the kinds of places that keep them in files. */
struct store_place {
	int fd;
	bool is_mine;    /* fd is to be closed by store_place_close */
	bool is_guessed; /* its digest may well be another */
	uint64_t at, size;
};

/* Into a growing buf, for what is small; the arg is the buf. */
int sink_buf(void *arg, struct str piece);

struct image_store;

/* One content of an image that is to be written. */
struct store_item {
	struct content content;
	bool is_manifest;         /* or index: registries keep those apart from blobs */
	bool is_new;              /* made here: no place can have it from elsewhere */
	struct str bytes;         /* all of it, if p is set; borrowed */
	struct image_store *from; /* otherwise the place that has it */
};

enum store_mode { STORE_READ, STORE_WRITE };

struct image_store {
	const struct store_ops *ops;
	enum store_mode mode;
	struct str text;    /* what the user wrote, for messages; borrowed */
	struct str name;    /* the same behind the kind's word and colon */
	struct str ref;     /* the part of it that names the image; set by ops->open */
	struct str tag;     /* of -t; empty for none; borrowed */
	const char *ca;     /* --ca: trust anchors of a registry; may be NULL */
	const char *realm;  /* --realm: one more host that may hear a login, or NULL */
	bool plain_http;    /* --plain-http */
	bool verify;        /* --verify: nothing is copied from it unread */
	struct arena arena; /* for the kind's state; freed behind ops->close */
	void *state;        /* the kind's own, from the arena */
};

struct store_ops {
	const char *word; /* "oci", "archive", "registry" */
	bool far;         /* each reading of a content takes a network */

	/*
	 * Takes s->name apart and makes sure that the place can be read, or that it
	 * can be written to, without a change to it yet.
	 */
	int (*open)(struct image_store *s);

	/*
	 * Appends to *out the manifest or index that has the digest, or, when it is
	 * empty, the one that the name points at; at most out->max bytes. Sets *media
	 * to the type that the place gives for it, if it gives one.
	 */
	int (*manifest)(struct image_store *s, const char *digest, struct buf *out,
		char media[MEDIA_MAX]);

	/*
	 * Finds the file that the content lies in, whatever its size; or, where this is
	 * NULL, fetch feeds it to the sink. store_fetch, which calls either, counts and
	 * hashes. No more of it than a piece is in memory.
	 */
	int (*locate)(
		struct image_store *s, const struct content *c, struct store_place *p);
	int (*fetch)(struct image_store *s, const struct content *c, struct sink to);

	/*
	 * Writes an image: all of its contents, each before those that name it, the
	 * manifest or index that the name shall point at last. The place chooses the
	 * order in which it takes the bytes (store_feed), leaves out what it has
	 * already, and may take others over without reading them, such as by a mount
	 * from item->from. Until all of it is there the name points at what it did
	 * before; a failure leaves nothing else behind that could be taken for an image.
	 */
	int (*write)(struct image_store *s, const struct store_item *items, size_t n);

	/* Releases what is not in the arena. s->state may be NULL. */
	void (*close)(struct image_store *s);
};

extern const struct store_ops store_oci, store_archive, store_registry;

/*
 * Opens the place called text ("oci:DIR[:REF]", "archive:FILE[:REF]", ...). tag is
 * the name that a written image gets unless text has one; may be empty. Both are
 * borrowed. *s must be zeroed but for ca, realm, plain_http and verify; store_close in
 * any case.
 */
int store_open(struct image_store *s, struct str text, enum store_mode mode,
	struct str tag) MUST_USE;
void store_close(struct image_store *s);

/*
 * The manifest or index with the digest and size in *c, or, when the digest is
 * empty, what the name points at; then *c is filled in. The bytes are appended to
 * *out and are what the digest says.
 */
int store_manifest(struct image_store *s, struct content *c, struct buf *out) MUST_USE;

/*
 * Feeds a content to the sink. FAIL_ENVIRONMENT when it is shorter or longer than
 * its size or has another digest: what the sink got is then to be thrown away.
 */
int store_fetch(struct image_store *s, const struct content *c, struct sink to) MUST_USE;

/* The same for an item, from memory or from its store. */
int store_feed(const struct store_item *i, struct sink to) MUST_USE;

/*
 * The file of an item that need not be read here: its size is right, and the digest is
 * for whoever reads it. 0 with *p, and then store_place_close; 1 when there is no such
 * file, when it is small or only guessed, or when its store's verify is set.
 */
int store_locate(const struct store_item *i, struct store_place *p) MUST_USE;
void store_place_close(struct store_place *p);
/*
 * Has the kernel append the bytes of p to fd, unread. 1 when it cannot, and nothing has
 * been written; -EINTR or -errno without a word.
 */
int store_copy(const struct store_place *p, int fd) MUST_USE;

/* Writes the image to s, as ops->write does. */
int store_write(struct image_store *s, const struct store_item *items, size_t n) MUST_USE;

/*
 * For the kinds that keep contents in files: feeds n bytes of fd from the offset at
 * on to the sink, or fewer where the file ends. text names the place.
 */
int store_feed_file(
	int fd, uint64_t at, uint64_t n, struct str text, struct sink to) MUST_USE;

/* A digest that can be checked here: its algorithm, its length, its digits. */
bool digest_is_valid(struct str digest);
/* The digest of bytes in memory, by SHA-256; size and digest of *c are set. */
void content_of(struct str bytes, struct content *c);

#endif
