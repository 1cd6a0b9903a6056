/*
 * Image references, as users type them and as engines read them: a name with an optional
 * tag and digest, or an image id. Without I/O.
 *
 *	[domain[:port]/]path[:tag][@algorithm:hex]    sha256:<64 hex>    <64 hex>
 */
#ifndef INJECT_NAMES_REF_H
#define INJECT_NAMES_REF_H

#include "base/buf.h"

enum { REF_MAX = 512, REF_NAME_MAX = 255, REF_TAG_MAX = 128 };

struct ref {
	bool is_id;        /* then only digest is set, "sha256:" included or not */
	struct str domain; /* empty when none was typed */
	struct str path;
	struct str tag;    /* empty when none was typed */
	struct str digest; /* "sha256:..."; empty when none was typed */
};

/* Reads text, which r borrows. 0, or ERR_SYNTAX with the reason in *why. */
int ref_parse(struct ref *r, struct str text, const char **why) MUST_USE;

/*
 * Appends the canonical form, which is equal for all spellings: always with the domain,
 * "library/" for short names of docker.io, ":latest" if there is neither tag nor digest.
 */
void ref_write_canonical(const struct ref *r, struct buf *out);

/* Appends the canonical form of text; nothing if text is no reference. */
void ref_canonicalize(struct str text, struct buf *out);

/* 64 lower-case hexadecimal digits, with "sha256:" in front or not. */
bool ref_is_id(struct str text);

#endif
