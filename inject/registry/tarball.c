#include "inject/registry/tarball.h"

#include "base/fd.h"
#include "codec/archive/untar.h"
#include "limits.h"

#include <errno.h>
#include <sys/stat.h>

enum { INJECT_ENTRIES_MAX = 16384 }; /* files in an archive of images */

enum { LINKS_MAX = 8 };

struct entry {
	enum untar_type type;
	struct str name;   /* without "./" and a trailing slash */
	struct str target; /* of a link; from the root of the archive, like name */
	uint64_t at, size;
};

/*
 * Appends path to *out, which may contain a folder, part by part. False: it leads out of
 * the archive.
 */
static bool tarball_join_path(struct buf *out, struct str path)
{
	while (path.n) {
		struct str part = str_cut(&path, '/');

		if (!part.n || str_eq(part, STR(".")))
			continue;
		if (str_eq(part, STR(".."))) {
			if (!out->n)
				return false;
			while (out->n && out->p[out->n - 1] != '/')
				out->n--;
			if (out->n)
				out->n--;
			continue;
		}
		if (out->n)
			buf_putc(out, '/');
		buf_str(out, part);
	}
	return true;
}

static struct str tarball_copy_text(struct tarball *t, struct str s, int *r)
{
	char *copy = arena_cstr(t->arena, s);

	if (!copy)
		*r = -ENOMEM;
	return str_make(copy, s.n);
}

/* A link's target from the root of the archive; empty: it leads out of it. */
static struct str tarball_resolve_link(
	struct tarball *t, const struct untar_entry *e, int *r)
{
	struct buf path = BUF_INIT(TAR_META_MAX * 2);
	struct str to = {0};
	bool inside = !str_starts(e->target, STR("/"));

	if (inside && e->type == UNTAR_SYMLINK) {
		inside = tarball_join_path(&path, e->name);
		while (path.n && path.p[path.n - 1] != '/')
			path.n--;
		if (path.n)
			path.n--;
	}
	if (inside && tarball_join_path(&path, e->target) && !path.err)
		to = tarball_copy_text(t, buf_view(&path), r);
	buf_free(&path);
	return to;
}

static int tarball_add_entry(struct tarball *t, const struct untar_entry *e, uint64_t at)
{
	struct buf path = BUF_INIT(TAR_META_MAX);
	struct entry new = {.type = e->type, .at = at, .size = e->size};
	int r = 0;

	/* Files with names that lead upwards are never requested. */
	if (e->type != UNTAR_DIR && tarball_join_path(&path, e->name)) {
		new.name = tarball_copy_text(t, buf_view(&path), &r);
		if (e->type != UNTAR_FILE)
			new.target = tarball_resolve_link(t, e, &r);
		if (!r)
			buf_put(&t->entries, &new, sizeof(new));
		if (!r)
			r = t->entries.err;
	}
	buf_free(&path);
	return r;
}

static const char *tarball_check_compression(struct str head)
{
	static const struct {
		struct str magic;
		const char *why;
	} known[] = {
		{{"\x1f\x8b", 2}, "it is compressed; unpack it with gunzip first"},
		{{"\x28\xb5\x2f\xfd", 4},
			"it is compressed; unpack it with unzstd first"},
		{{"BZh", 3}, "it is compressed; unpack it with bunzip2 first"},
		{{"\xfd"
		  "7zXZ",
			 5},
			"it is compressed; unpack it with unxz first"},
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (str_starts(head, known[i].magic))
			return known[i].why;
	return NULL;
}

static int tarball_read_block(
	int fd, uint64_t at, char block[UNTAR_BLOCK], const char **why)
{
	ssize_t n = fd_read_at(fd, at, block, UNTAR_BLOCK);

	if (n < 0)
		return (int)n;
	if (at == 0 && n > 0) {
		*why = tarball_check_compression(str_make(block, (size_t)n));
		if (*why)
			return ERR_SYNTAX;
	}
	if (n == UNTAR_BLOCK)
		return 0;
	*why = at ? "it is truncated" : "it is not a tar archive";
	return ERR_SYNTAX;
}

static int tarball_read_headers(
	struct tarball *t, struct untar *u, uint64_t size, const char **why)
{
	char block[UNTAR_BLOCK];
	uint64_t at = 0;

	for (;;) {
		struct str in = {block, sizeof(block)}, piece;
		int r = tarball_read_block(t->fd, at, block, why);

		at += UNTAR_BLOCK;
		while (!r && in.n) {
			r = untar_next(u, &in, &piece);
			if (r == UNTAR_DONE)
				return 0;
			if (r == UNTAR_ENTRY) {
				uint64_t content = at;
				uint64_t pass = untar_skip_content(u);

				if (pass > size || content > size - pass) {
					*why = "it is truncated";
					return ERR_SYNTAX;
				}
				at += pass;
				r = tarball_add_entry(t, &u->entry, content);
			} else if (r < 0 && r != -ENOMEM) {
				*why = u->reason ? u->reason : "it is damaged";
				return ERR_SYNTAX;
			}
		}
		if (r == ERR_LIMIT) {
			*why = "it has too many files";
			return ERR_SYNTAX;
		}
		if (r < 0)
			return r;
	}
}

int tarball_read(struct tarball *t, int fd, struct arena *arena, const char **why)
{
	struct untar u;
	struct stat st;
	int r;

	*t = (struct tarball){.fd = fd, .arena = arena};
	buf_init(&t->entries, INJECT_ENTRIES_MAX * sizeof(struct entry));
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode)) {
		*why = "it is not a regular file";
		return ERR_SYNTAX;
	}
	untar_init(&u);
	r = tarball_read_headers(t, &u, (uint64_t)st.st_size, why);
	untar_free(&u);
	return r;
}

void tarball_free(struct tarball *t)
{
	buf_free(&t->entries);
}

int tarball_find(const struct tarball *t, struct str name, uint64_t *at, uint64_t *size)
{
	const struct entry *all = (const struct entry *)(const void *)t->entries.p;
	size_t n = t->entries.n / sizeof(*all);

	for (int links = 0; links < LINKS_MAX; links++) {
		const struct entry *found = NULL;

		for (size_t i = 0; i < n; i++) {
			if (!str_eq(all[i].name, name))
				continue;
			/* Readers differ in which of the two files they take. */
			if (found)
				return ERR_DUPLICATE;
			found = &all[i];
		}
		if (!found)
			return links ? -ELOOP : -ENOENT;
		if (found->type == UNTAR_FILE) {
			*at = found->at;
			*size = found->size;
			return 0;
		}
		if (!found->target.n)
			return -ELOOP;
		name = found->target;
	}
	return -ELOOP;
}
