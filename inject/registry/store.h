/*
 * A place that holds images: an OCI layout folder, an archive, a registry. Each kind has
 * a table of operations. store.c has the list of kinds, and checks sizes and digests for
 * all kinds while the bytes pass.
 *
 * The function that finds an error prints it: every function returns 0, -ENOMEM, -EINTR
 * or FAIL_*.
 */
#ifndef INJECT_REGISTRY_STORE_H
#define INJECT_REGISTRY_STORE_H

#include "base/arena.h"
#include "base/buf.h"

enum {
	DIGEST_MAX = 136, /* "sha512:", 128 digits, NUL */
	MEDIA_MAX = 128,  /* RFC 6838 allows 127 */
};

/* A descriptor of a content (OCI image specification, "Descriptor"). */
struct content {
	char digest[DIGEST_MAX]; /* "sha256:" or "sha512:" and lower-case digits */
	char media[MEDIA_MAX];   /* media type; empty when not known */
	uint64_t size;           /* exactly; bytes */
};

/* The destination of the bytes of a content, in order. An error ends the transfer. */
struct sink {
	int (*put)(void *arg, struct str piece);
	void *arg;
};

/* The position of the bytes of a content, for kinds of places that keep them in files. */
struct store_place {
	int fd;
	bool owns_fd;    /* store_place_close closes fd */
	bool is_guessed; /* its digest may be another */
	uint64_t at, size;
};

/* A put of a sink: appends to a buf, for small contents; arg is the buf. */
int sink_put_buf(void *arg, struct str piece);

struct image_store;

/* A content of an image that is to be written. */
struct store_item {
	struct content content;
	bool is_manifest;         /* or index: registries store these apart from blobs */
	bool is_new;              /* made here: no other place can have it */
	struct str bytes;         /* the whole content, if p is set; borrowed */
	struct image_store *from; /* otherwise the place that has the content */
};

enum store_mode { STORE_READ, STORE_WRITE };

struct image_store {
	const struct store_ops *ops;
	enum store_mode mode;
	struct str text;   /* what the user typed, for messages; borrowed */
	struct str name;   /* the text after the kind's word and colon */
	struct str ref;    /* the part that names the image; set by ops->open */
	struct str tag;    /* of -t; empty for none; borrowed */
	const char *ca;    /* --ca: trust anchors of a registry; may be NULL */
	const char *realm; /* --realm: another host that may receive the login, or NULL */
	bool plain_http;   /* --plain-http */
	bool verify;       /* --verify: contents are never copied without reading them */
	struct arena arena; /* for the kind's state; freed after ops->close */
	void *state;        /* of the kind, from the arena */
};

struct store_ops {
	const char *kind; /* "oci", "archive", "registry" */
	bool is_remote;   /* each reading of a content takes a network */

	/*
	 * Parses s->name and checks that the place can be read, or that it can be
	 * written, without changing it.
	 */
	int (*open)(struct image_store *s);

	/*
	 * Appends to *out the manifest or index with the digest, or, if digest is empty,
	 * the one that the name points at; at most out->max bytes. Sets *media to the
	 * type that the place gives for it, if any.
	 */
	int (*manifest)(struct image_store *s, const char *digest, struct buf *out,
		char media[MEDIA_MAX]);

	/*
	 * Finds the file that has the content, of any size; or, if this is NULL, fetch
	 * passes the content to the sink. store_fetch, which calls either, counts and
	 * hashes. Memory holds at most a piece of the content.
	 */
	int (*locate)(
		struct image_store *s, const struct content *c, struct store_place *p);
	int (*fetch)(struct image_store *s, const struct content *c, struct sink to);

	/*
	 * Writes an image: all of its contents, each before those that refer to it; the
	 * manifest or index that the name will point at is the last. The place chooses
	 * the order in which it takes the bytes (store_feed), skips contents that it has
	 * already, and may take over others without reading them, such as by a mount from
	 * item->from. Until all contents are there the name points at the previous image.
	 * After a failure nothing remains that could be taken for an image.
	 */
	int (*write)(struct image_store *s, const struct store_item *items, size_t n);

	/* Releases everything outside the arena. s->state may be NULL. */
	void (*close)(struct image_store *s);
};

extern const struct store_ops store_oci, store_archive, store_registry;

/*
 * Opens the place called text ("oci:DIR[:REF]", "archive:FILE[:REF]", ...). tag is the
 * name for a written image if text has none; may be empty. Both are borrowed. *s must be
 * zeroed but for ca, realm, plain_http and verify; store_close in any case.
 */
int store_open(struct image_store *s, struct str text, enum store_mode mode,
	struct str tag) MUST_USE;
void store_close(struct image_store *s);

/*
 * Reads the manifest or index with the digest and size in *c, or, if the digest is empty,
 * the one that the name points at; then *c is filled in. The bytes are appended to *out
 * and match the digest.
 */
int store_manifest(struct image_store *s, struct content *c, struct buf *out) MUST_USE;

/*
 * Passes a content to the sink. FAIL_ENVIRONMENT: it is shorter or longer than its size
 * or has another digest; the caller then discards what the sink received.
 */
int store_fetch(struct image_store *s, const struct content *c, struct sink to) MUST_USE;

/* As store_fetch for an item, from memory or from its store. */
int store_feed(const struct store_item *i, struct sink to) MUST_USE;

/*
 * Finds the file of an item whose bytes can be copied without reading them here: its size
 * is right, and the reader of the copy checks the digest. 0 with *p, and then
 * store_place_close; 1: there is no such file, it is small or only guessed, or its
 * store's verify is set.
 */
int store_locate(const struct store_item *i, struct store_place *p) MUST_USE;
void store_place_close(struct store_place *p);
/*
 * Makes the kernel append the bytes of p to fd, without reading them here. 1: the kernel
 * cannot, and nothing was written; -EINTR or -errno, without a message.
 */
int store_copy(const struct store_place *p, int fd) MUST_USE;

/* Writes the image to s, as ops->write does. */
int store_write(struct image_store *s, const struct store_item *items, size_t n) MUST_USE;

/*
 * For kinds that keep contents in files: passes n bytes of fd from offset at to the sink,
 * or fewer if the file ends. text names the place.
 */
int store_feed_file(
	int fd, uint64_t at, uint64_t n, struct str text, struct sink to) MUST_USE;

/* Whether a digest can be checked here: its algorithm, its length, its digits. */
bool digest_is_valid(struct str digest);
/* The digest of bytes in memory, by SHA-256; size and digest of *c are set. */
void content_from_bytes(struct str bytes, struct content *c);

#endif
