#include "fs/package.h"

#include "base/fd.h"
#include "codec/xml.h"
#include "fs/load.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>

enum { PACKAGE_RELATIONS_MAX = 8 << 20 }; /* 300 bytes each: 20,000 slides */

/* An unzip_read_fn. */
static int package_read_at(void *arg, uint64_t at, void *p, size_t n)
{
	const int *fd = arg;

	return fd_read_all_at(*fd, at, p, n);
}

static int package_fail_zip(struct package *p, int err)
{
	struct str culprit = p->zip.error_name;

	buf_fmt(&p->why, "%.*s%s%s", STR_ARG(culprit), culprit.n ? " " : "the file ",
		p->zip.reason);
	return err;
}

static int package_fail(struct package *p, int err, struct str what, const char *why)
{
	buf_fmt(&p->why, "%.*s%s%s", STR_ARG(what), what.n ? ": " : "", why);
	return err;
}

int package_open(struct package *p, const char *path)
{
	struct unzip_source source = {.read = package_read_at, .arg = &p->fd};
	struct stat st;
	int r;

	*p = (struct package){.fd = -1};
	buf_init(&p->why, FILE_WORDS_MAX);
	arena_init(&p->memory, PACKAGE_RELATIONS_MAX);
	p->fd = load_open(AT_FDCWD, path, O_RDONLY, &st);
	r = p->fd < 0 ? p->fd : 0;
	if (!r) {
		source.size = (uint64_t)st.st_size;
		r = unzip_open(&p->zip, &source);
		if (r && r != ERR_TYPE)
			return package_fail_zip(p, r);
	}
	if (r == ERR_TYPE || r == -ENOENT || r == -ENOTDIR) {
		buf_fmt(&p->why, "Package not found at '%s'", path);
		return ERR_TYPE;
	}
	return r ? package_fail(p, r, str_c(path), err_text(r)) : 0;
}

void package_close(struct package *p)
{
	unzip_free(&p->zip);
	fd_close(&p->fd);
	arena_reset(&p->memory);
	buf_free(&p->why);
}

int package_read(struct package *p, struct str name, struct buf *out)
{
	struct unzip_content c;
	struct unzip_entry e;
	struct str piece;
	int r = unzip_find(&p->zip, name, &e);

	if (r == 1)
		return package_fail(p, 1, name, "the file has no such part");
	if (!r && e.size > PACKAGE_PART_MAX)
		return package_fail(p, ERR_LIMIT, name, "is too large");
	if (!r)
		r = unzip_begin(&c, &p->zip, &e);
	while (!r && (r = unzip_read_piece(&c, &piece)) == 1) {
		buf_str(out, piece);
		r = 0;
	}
	if (r)
		return package_fail_zip(p, r);
	return out->err ? package_fail(p, out->err, name, err_text(out->err)) : 0;
}

/* --- Relationships ----------------------------------------------- */

static struct str package_get_folder(struct str name)
{
	while (name.n && name.p[name.n - 1] != '/')
		name.n--;
	return name;
}

/* Resolves a reference in a part to the name of another part (RFC 3986, 5.2.4). */
static bool package_resolve_target(
	struct arena *a, struct str from, struct str target, struct str *out)
{
	struct str folder = package_get_folder(from);
	char *to = arena_alloc(a, folder.n + target.n + 1);
	size_t n = 0;

	if (!to)
		return false;
	if (!str_starts(target, STR("/"))) {
		memcpy(to, folder.p, folder.n);
		n = folder.n;
	}
	while (target.n) {
		struct str part = str_cut(&target, '/');

		if (str_eq(part, STR("..")))
			n = n ? package_get_folder(str_make(to, n - 1)).n : 0;
		if (!part.n || str_eq(part, STR(".")) || str_eq(part, STR("..")))
			continue;
		memcpy(to + n, part.p, part.n);
		n += part.n;
		if (target.n)
			to[n++] = '/';
	}
	*out = str_make(to, n);
	return true;
}

static bool package_copy_attr(
	struct package *p, const struct xml *x, const char *name, struct str *out)
{
	struct buf value = BUF_INIT(FILE_WORDS_MAX);
	const char *kept = NULL;

	xml_put_attr(x, name, &value);
	if (!value.err)
		kept = arena_cstr(&p->memory, buf_view(&value));
	*out = str_make(kept, kept ? value.n : 0);
	buf_free(&value);
	return kept;
}

/* Reads one relationship of the part called name; NULL if memory is short. */
static struct package_relation *package_relation_new(
	struct package *p, const struct xml *x, struct str name)
{
	struct package_relation *new = arena_alloc(&p->memory, sizeof(*new));
	struct str target;

	if (!new || !package_copy_attr(p, x, "Id", &new->id) ||
		!package_copy_attr(p, x, "Type", &new->type) ||
		!package_copy_attr(p, x, "Target", &target) ||
		!package_resolve_target(&p->memory, name, target, &new->target))
		return NULL;
	return new;
}

static int package_parse_relations(struct package *p, struct str name, struct str part,
	struct str text, struct package_relation **out)
{
	static const struct xml_namespace known[] = {
		{"r", "http://schemas.openxmlformats.org/package/2006/relationships"},
		{NULL, NULL},
	};
	struct package_relation *first = NULL, **last = &first;
	struct xml *x = arena_alloc(&p->memory, sizeof(*x));
	int r;

	if (!x)
		return package_fail(p, -ENOMEM, part, err_text(-ENOMEM));
	xml_init(x, text, known);
	while ((r = xml_next(x)) > 0) {
		if (r != XML_OPEN || !xml_is_at(x, "r:Relationships/r:Relationship"))
			continue;
		*last = package_relation_new(p, x, name);
		if (!*last)
			return package_fail(p, ERR_LIMIT, part, "has too many relations");
		last = &(*last)->next;
	}
	if (r)
		return package_fail(p, r, part, x->reason);
	*out = first;
	return 0;
}

int package_read_relations(
	struct package *p, struct str name, struct package_relation **out)
{
	struct buf part = BUF_INIT(FILE_WORDS_MAX);
	struct buf text = BUF_INIT(PACKAGE_PART_MAX);
	struct str folder = package_get_folder(name);
	struct str base = str_skip(name, folder.n);
	int r;

	buf_fmt(&part, "%.*s_rels/%.*s.rels", STR_ARG(folder), STR_ARG(base));
	r = part.err ? package_fail(p, part.err, STR(""), "a name is too long")
		     : package_read(p, buf_view(&part), &text);
	if (!r)
		r = package_parse_relations(
			p, name, buf_view(&part), buf_view(&text), out);
	buf_free(&part);
	buf_free(&text);
	return r;
}

int package_find_main(struct package *p, struct str usual, struct str *out)
{
	struct package_relation *at = NULL;
	int r = package_read_relations(p, STR(""), &at);

	if (r < 0)
		return r;
	buf_reset(&p->why);
	while (at && !str_ends(at->type, STR("/officeDocument")))
		at = at->next;
	*out = at ? at->target : usual;
	return 0;
}
