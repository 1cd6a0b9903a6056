#include "inject/plugin.h"

#include "base/arena.h"
#include "base/fd.h"
#include "file/pax.h"
#include "file/tree.h"
#include "inject/out.h"
#include "inject/ref.h"
#include "limits.h"
#include "plug/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define NEXT_FORM "--plugin NAME=DIR with a / or . in front, or NAME=IMAGE"

/* One folder while it is read: its paths are sorted before anything is written. */
struct reading {
	struct plugin *plugin;
	struct arena arena;
	char **paths;
	size_t n;
	int top;
};

struct str plugin_name(const char *value)
{
	return str_make(value, strcspn(value, "="));
}

static int unreadable(const struct reading *d, const char *path, int err)
{
	return out_fail("leave it out, or make it readable", "plugin %.*s: %s: %s",
		STR_ARG(d->plugin->name), path, err_text(err));
}

/* A tree_fn. */
static int note(void *arg, const struct tree_item *i)
{
	struct reading *d = arg;
	char *path = arena_cstr(&d->arena, i->path);

	if (!path)
		return -ENOMEM;
	if (i->err)
		return unreadable(d, path, i->err);
	if (d->n == INJECT_PLUGIN_FILES)
		return out_fail("give a smaller folder",
			"plugin %.*s has more than %d files", STR_ARG(d->plugin->name),
			INJECT_PLUGIN_FILES);
	d->paths[d->n++] = path;
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void name_entry(const struct plugin *p, const char *path, struct buf *out)
{
	buf_reset(out);
	buf_fmt(out, "plugins/%.*s" PLUGIN_FOLDER "%.*s", STR_ARG(p->name),
		STR_ARG(p->name));
	if (*path)
		buf_fmt(out, "/%s", path);
}

/* All of a file, whose size the header said. */
static int put_content(struct reading *d, int fd, const char *path, uint64_t size)
{
	struct buf *out = &d->plugin->tar;
	uint64_t left = size;

	while (left) {
		size_t want = left < (1 << 16) ? (size_t)left : 1 << 16;
		char *room = buf_room(out, want);
		ssize_t n = room ? read(fd, room, want) : 0;

		if (!room)
			return out->err;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return unreadable(d, path, n ? -errno : -EIO);
		buf_commit(out, (size_t)n);
		left -= (uint64_t)n;
	}
	pax_pad(out, size);
	return out->err;
}

/* What the client would refuse, where it is too late. */
static int check_manifest(const struct reading *d, struct str text)
{
	struct buf why = BUF_INIT(INJECT_TEXT_MAX);
	struct plugin_manifest m;
	struct arena arena;
	int r = ERR_SYNTAX;

	arena_init(&arena, PLUGIN_MEMORY_MAX);
	if (text.n > PLUGIN_MANIFEST_MAX)
		buf_fmt(&why, "it is larger than %d bytes", PLUGIN_MANIFEST_MAX);
	else
		r = plugin_manifest_read(&m, text, d->plugin->name, &arena, &why);
	if (r == ERR_SYNTAX)
		r = out_fail("mend the manifest", "plugin %.*s: plugin.json: %.*s",
			STR_ARG(d->plugin->name), STR_ARG(buf_view(&why)));
	arena_reset(&arena);
	buf_free(&why);
	return r;
}

static int put_file(struct reading *d, const char *path, struct pax_entry *e)
{
	int fd = fd_openat(d->top, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st;
	size_t begin;
	int r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;

	if (r) {
		fd_close(&fd);
		return unreadable(d, path, r);
	}
	e->size = (uint64_t)st.st_size;
	r = pax_header(&d->plugin->tar, e);
	begin = d->plugin->tar.n;
	if (!r)
		r = put_content(d, fd, path, e->size);
	if (!r && !strcmp(path, "plugin.json"))
		r = check_manifest(
			d, str_make(d->plugin->tar.p + begin, (size_t)e->size));
	fd_close(&fd);
	return r;
}

static int put_entry(struct reading *d, const char *path)
{
	struct buf name = BUF_INIT(FILE_PATH_MAX);
	char target[FILE_PATH_MAX];
	struct pax_entry e = {0};
	struct stat st;
	ssize_t n;
	int r = 0;

	name_entry(d->plugin, path, &name);
	e.name = buf_view(&name);
	if (name.err) {
		r = name.err;
	} else if (fstatat(d->top, path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		r = unreadable(d, path, -errno);
	} else if (S_ISREG(st.st_mode)) {
		e.mode = S_IFREG | (st.st_mode & 0111 ? 0755 : 0644);
		r = put_file(d, path, &e);
	} else if (S_ISDIR(st.st_mode)) {
		e.mode = S_IFDIR | 0755;
		r = pax_header(&d->plugin->tar, &e);
	} else if (S_ISLNK(st.st_mode)) {
		n = readlinkat(d->top, path, target, sizeof(target));
		e.mode = S_IFLNK | 0777;
		e.target = str_make(target, n < 0 ? 0 : (size_t)n);
		r = n < 0 ? unreadable(d, path, -errno) : pax_header(&d->plugin->tar, &e);
	} else {
		r = out_fail("leave it out",
			"plugin %.*s: %s is neither file, folder nor link",
			STR_ARG(d->plugin->name), path);
	}
	buf_free(&name);
	return r;
}

/* The folders above it, so that no builder makes them in a way of its own. */
static int put_parents(struct plugin *p)
{
	static const char *const above[] = {"", "/.od", "/.od/plugins"};
	struct buf name = BUF_INIT(FILE_PATH_MAX);
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(above) && !r; i++) {
		struct pax_entry e = {.mode = S_IFDIR | 0755};

		buf_reset(&name);
		buf_fmt(&name, "plugins/%.*s%s", STR_ARG(p->name), above[i]);
		e.name = buf_view(&name);
		r = pax_header(&p->tar, &e);
	}
	name_entry(p, "", &name);
	if (!r)
		r = pax_header(&p->tar,
			&(struct pax_entry){
				.name = buf_view(&name), .mode = S_IFDIR | 0755});
	buf_free(&name);
	return r;
}

static int read_folder(struct plugin *p, const char *path)
{
	struct reading d = {.plugin = p};
	uint8_t digest[SHA256_LEN];
	int r;

	arena_init(&d.arena, INJECT_PLUGIN_MAX);
	d.paths = arena_array(&d.arena, INJECT_PLUGIN_FILES, sizeof(*d.paths));
	d.top = fd_open(path, O_RDONLY | O_DIRECTORY, 0);
	if (!d.paths)
		r = -ENOMEM;
	else if (d.top < 0)
		r = unreadable(&d, path, d.top);
	else
		r = tree_each(d.top, note, &d);
	if (!r)
		r = put_parents(p);
	if (!r && d.n)
		qsort(d.paths, d.n, sizeof(*d.paths), by_bytes);
	for (size_t i = 0; i < d.n && !r; i++)
		r = put_entry(&d, d.paths[i]);
	if (r == ERR_LIMIT)
		r = out_fail("give a smaller folder", "plugin %.*s is larger than %d MiB",
			STR_ARG(p->name), INJECT_PLUGIN_MAX >> 20);
	if (!r) {
		sha256_of(buf_view(&p->tar), digest);
		hex_encode(digest, SHA256_LEN, p->hash);
	}
	fd_close(&d.top);
	arena_reset(&d.arena);
	return r;
}

static int read_one(struct plugin *p, const char *value)
{
	const char *source = value + p->name.n + 1, *why;
	struct ref ref;

	if (!plugin_name_ok(p->name))
		return out_fail_usage("lower-case letters, digits, _ . -",
			"'%.*s' cannot be the name of a plugin", STR_ARG(p->name));
	if (*source == '/' || *source == '.')
		return read_folder(p, source);
	if (ref_parse(&ref, str_c(source), &why))
		return out_fail_usage(NEXT_FORM, "the plugin %.*s is in '%s': %s",
			STR_ARG(p->name), source, why);
	p->image = source;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	struct str x = ((const struct plugin *)a)->name;
	struct str y = ((const struct plugin *)b)->name;
	int r = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);

	return r ? r : x.n < y.n ? -1 : x.n > y.n;
}

/* Their order is not the user's, so that it does not matter. */
static int check(struct plugins *p)
{
	if (p->n > 1)
		qsort(p->list, p->n, sizeof(*p->list), by_name);
	for (size_t i = 1; i < p->n; i++)
		if (str_eq(p->list[i].name, p->list[i - 1].name))
			return out_fail_usage(NEXT_FORM, "two plugins are called %.*s",
				STR_ARG(p->list[i].name));
	return 0;
}

int plugins_read(struct plugins *p, const struct options *o)
{
	const char *value;
	size_t it = 0;
	int r = 0;

	p->n = 0;
	while (!r && (value = options_next(o, LIST_PLUGIN, &it))) {
		struct str name = plugin_name(value);

		/* Of the client's own, which are in it already. */
		if (!value[name.n] && o->command->bit & (FOR_RUN | FOR_MCP))
			continue;
		if (!value[name.n])
			return out_fail_usage(
				NEXT_FORM, "the plugin %s is nowhere", value);
		if (p->n == INJECT_PLUGINS)
			return out_fail_usage(
				NULL, "more than %d plugins", INJECT_PLUGINS);
		p->list[p->n] =
			(struct plugin){.name = name, .tar = BUF_INIT(INJECT_PLUGIN_MAX)};
		r = read_one(&p->list[p->n++], value);
	}
	return r ? r : check(p);
}

void plugins_free(struct plugins *p)
{
	for (size_t i = 0; i < p->n; i++)
		buf_free(&p->list[i].tar);
	p->n = 0;
}

void plugins_label(const struct plugins *p, struct buf *out)
{
	for (size_t i = 0; i < p->n; i++)
		buf_fmt(out, "%s%.*s=%s", i ? " " : "", STR_ARG(p->list[i].name),
			p->list[i].hash);
}
