#include "inject/image/plugin.h"

#include "base/fd.h"
#include "codec/archive/pax.h"
#include "fs/tree.h"
#include "inject/console/out.h"
#include "inject/names/ref.h"
#include "limits.h"
#include "plugin/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define NEXT_FORM \
	"give --plugin NAME=DIR (DIR begins with / or .), or --plugin NAME=IMAGE"

enum {
	PIECE = PLUGIN_MANIFEST_MAX, /* bytes read at once; the whole manifest */
	HEAD = 65536,                /* of an entry: two paths, each perhaps twice */
};

/* A folder that is written into an archive. */
struct packing {
	const struct plugin *plugin;
	plugin_put_fn *put; /* NULL: only the hash is computed */
	void *arg;
	struct sha256 hash;
	struct buf head, piece;
	uint64_t size;
};

struct str plugin_option_name(const char *value)
{
	return str_make(value, strcspn(value, "="));
}

static int plugin_fail_read(const struct plugin *p, const char *path, int err)
{
	return out_fail("leave it out, or make it readable", "plugin %.*s: %s: %s",
		STR_ARG(p->name), path, err_text(err));
}

/* --- Entries ---------------------------------------------------------------------- */

static int plugin_pack_piece(struct packing *k, struct str piece)
{
	if (piece.n > INJECT_PLUGIN_MAX - k->size)
		return out_fail("give a smaller folder",
			"plugin %.*s is larger than %d MiB", STR_ARG(k->plugin->name),
			INJECT_PLUGIN_MAX >> 20);
	k->size += piece.n;
	sha256_update(&k->hash, piece.p, piece.n);
	return k->put ? k->put(k->arg, piece) : 0;
}

static int plugin_pack_head(struct packing *k, const struct pax_entry *e)
{
	int r;

	buf_reset(&k->head);
	r = pax_write_header(&k->head, e);
	return r ? r : plugin_pack_piece(k, buf_view(&k->head));
}

static int plugin_pack_padding(struct packing *k, uint64_t size)
{
	buf_reset(&k->head);
	pax_pad(&k->head, size);
	return k->head.err ? k->head.err : plugin_pack_piece(k, buf_view(&k->head));
}

static void plugin_pack_entry_name(
	const struct plugin *p, const char *path, struct buf *out)
{
	buf_reset(out);
	buf_fmt(out, "plugins/%.*s" PLUGIN_FOLDER "%.*s", STR_ARG(p->name),
		STR_ARG(p->name));
	if (*path)
		buf_fmt(out, "/%s", path);
}

/* Refuses a manifest that the client would refuse later. */
static int plugin_pack_check_manifest(
	const struct plugin *p, struct str text, uint64_t size)
{
	struct buf why = BUF_INIT(INJECT_TEXT_MAX);
	struct plugin_manifest m;
	struct arena arena;
	int r = ERR_SYNTAX;

	arena_init(&arena, PLUGIN_MEMORY_MAX);
	if (size > PLUGIN_MANIFEST_MAX)
		buf_fmt(&why, "it is larger than %d bytes", PLUGIN_MANIFEST_MAX);
	else
		r = plugin_manifest_read(&m, text, p->name, &arena, &why);
	if (r == ERR_SYNTAX)
		r = out_fail("correct plugin.json", "plugin %.*s: plugin.json: %.*s",
			STR_ARG(p->name), STR_ARG(buf_view(&why)));
	arena_reset(&arena);
	buf_free(&why);
	return r;
}

/* Writes the content of a file, with the size that the header has. */
static int plugin_pack_content(struct packing *k, int fd, const char *path, uint64_t size)
{
	uint64_t left = size;
	int r = 0;

	while (left && !r) {
		size_t n = left < PIECE ? (size_t)left : PIECE;
		ssize_t got = fd_read_full(fd, k->piece.p, n);

		/* Fewer bytes: the file has become shorter meanwhile. */
		if (got < (ssize_t)n)
			return plugin_fail_read(
				k->plugin, path, got < 0 ? (int)got : -EIO);
		if (left == size && !strcmp(path, "plugin.json"))
			r = plugin_pack_check_manifest(
				k->plugin, str_make(k->piece.p, n), size);
		if (!r)
			r = plugin_pack_piece(k, str_make(k->piece.p, n));
		left -= n;
	}
	return r ? r : plugin_pack_padding(k, size);
}

static int plugin_pack_file(struct packing *k, const char *path, struct pax_entry *e)
{
	int fd = fd_openat(k->plugin->top, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st;
	int r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;

	if (r) {
		fd_close(&fd);
		return plugin_fail_read(k->plugin, path, r);
	}
	e->size = (uint64_t)st.st_size;
	r = plugin_pack_head(k, e);
	if (!r)
		r = plugin_pack_content(k, fd, path, e->size);
	fd_close(&fd);
	return r;
}

static int plugin_pack_entry(struct packing *k, const char *path)
{
	const struct plugin *p = k->plugin;
	struct buf name = BUF_INIT(FILE_PATH_MAX);
	char target[FILE_PATH_MAX];
	struct pax_entry e = {0};
	struct stat st;
	ssize_t n;
	int r = 0;

	plugin_pack_entry_name(p, path, &name);
	e.name = buf_view(&name);
	if (name.err) {
		r = name.err;
	} else if (fstatat(p->top, path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		r = plugin_fail_read(p, path, -errno);
	} else if (S_ISREG(st.st_mode)) {
		e.mode = S_IFREG | (st.st_mode & 0111 ? 0755 : 0644);
		r = plugin_pack_file(k, path, &e);
	} else if (S_ISDIR(st.st_mode)) {
		e.mode = S_IFDIR | 0755;
		r = plugin_pack_head(k, &e);
	} else if (S_ISLNK(st.st_mode)) {
		n = readlinkat(p->top, path, target, sizeof(target));
		e.mode = S_IFLNK | 0777;
		e.target = str_make(target, n < 0 ? 0 : (size_t)n);
		r = n < 0 ? plugin_fail_read(p, path, -errno) : plugin_pack_head(k, &e);
	} else {
		r = out_fail("remove it from the folder",
			"plugin %.*s: %s is not a file, a folder or a symbolic link",
			STR_ARG(p->name), path);
	}
	buf_free(&name);
	return r;
}

/*
 * Writes the folders above the plugin, so that their modes do not depend on the builder.
 */
static int plugin_pack_parents(struct packing *k)
{
	static const char *const above[] = {"", "/.od", "/.od/plugins"};
	const struct plugin *p = k->plugin;
	struct buf name = BUF_INIT(FILE_PATH_MAX);
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(above) && !r; i++) {
		struct pax_entry e = {.mode = S_IFDIR | 0755};

		buf_reset(&name);
		buf_fmt(&name, "plugins/%.*s%s", STR_ARG(p->name), above[i]);
		e.name = buf_view(&name);
		r = plugin_pack_head(k, &e);
	}
	plugin_pack_entry_name(p, "", &name);
	if (!r)
		r = plugin_pack_head(k,
			&(struct pax_entry){
				.name = buf_view(&name), .mode = S_IFDIR | 0755});
	buf_free(&name);
	return r;
}

static int plugin_pack_folder(
	const struct plugin *p, plugin_put_fn *put, void *arg, char hash[SHA256_HEX + 1])
{
	struct packing k = {
		.plugin = p,
		.put = put,
		.arg = arg,
		.head = BUF_INIT(HEAD),
		.piece = BUF_INIT(PIECE),
	};
	uint8_t digest[SHA256_LEN];
	int r = buf_reserve(&k.piece, PIECE) ? 0 : -ENOMEM;

	sha256_init(&k.hash);
	if (!r)
		r = plugin_pack_parents(&k);
	for (size_t i = 0; i < p->n && !r; i++)
		r = plugin_pack_entry(&k, p->paths[i]);
	sha256_final(&k.hash, digest);
	hex_encode(digest, SHA256_LEN, hash);
	buf_free(&k.head);
	buf_free(&k.piece);
	return r;
}

/* The hash is part of the product's name, so that the content must not have changed. */
int plugin_put_archive(const struct plugin *p, plugin_put_fn *put, void *arg)
{
	char hash[SHA256_HEX + 1];
	int r = p->top < 0 ? 0 : plugin_pack_folder(p, put, arg, hash);

	if (r || p->top < 0 || !strcmp(hash, p->hash))
		return r;
	return out_fail("try again when no program writes to the folder",
		"plugin %.*s: its folder changed while it was read", STR_ARG(p->name));
}

/* --- The folder ------------------------------------------------------------------- */

/* A tree_fn. */
static int plugin_on_tree_item(void *arg, const struct tree_item *i)
{
	struct plugin *p = arg;
	char *path = arena_cstr(&p->arena, i->path);

	if (!path)
		return -ENOMEM;
	if (i->err)
		return plugin_fail_read(p, path, i->err);
	if (p->n == INJECT_PLUGIN_FILES)
		return out_fail("give a smaller folder",
			"plugin %.*s has more than %d files", STR_ARG(p->name),
			INJECT_PLUGIN_FILES);
	p->paths[p->n++] = path;
	return 0;
}

static int plugin_compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int plugin_read_folder(struct plugin *p, const char *path)
{
	int r;

	arena_init(&p->arena, INJECT_ARENA_MAX);
	p->paths = arena_array(&p->arena, INJECT_PLUGIN_FILES, sizeof(*p->paths));
	p->top = fd_open(path, O_RDONLY | O_DIRECTORY, 0);
	if (!p->paths)
		r = -ENOMEM;
	else if (p->top < 0)
		r = plugin_fail_read(p, path, p->top);
	else
		r = tree_for_each(p->top, plugin_on_tree_item, p);
	/* The order must not depend on the machine. */
	if (!r && p->n)
		qsort(p->paths, p->n, sizeof(*p->paths), plugin_compare_paths);
	return r ? r : plugin_pack_folder(p, NULL, NULL, p->hash);
}

static int plugin_read_source(struct plugin *p, const char *value)
{
	const char *source = value + p->name.n + 1, *why;
	struct ref ref;

	if (!manifest_is_name(p->name))
		return out_fail_usage("a name has lower-case letters, digits, _ . and -",
			"'%.*s' is not a valid name of a plugin", STR_ARG(p->name));
	if (*source == '/' || *source == '.')
		return plugin_read_folder(p, source);
	if (ref_parse(&ref, str_c(source), &why))
		return out_fail_usage(NEXT_FORM,
			"the plugin %.*s: '%s' is not the name of an image: %s",
			STR_ARG(p->name), source, why);
	p->image = source;
	return 0;
}

static int plugin_compare_names(const void *a, const void *b)
{
	struct str x = ((const struct plugin *)a)->name;
	struct str y = ((const struct plugin *)b)->name;
	int r = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);

	return r ? r : x.n < y.n ? -1 : x.n > y.n;
}

/* Sorts the plugins by name: the order of the options does not matter. */
static int plugin_sort_list(struct plugins *p)
{
	if (p->n > 1)
		qsort(p->list, p->n, sizeof(*p->list), plugin_compare_names);
	for (size_t i = 1; i < p->n; i++)
		if (str_eq(p->list[i].name, p->list[i - 1].name))
			return out_fail_usage(NEXT_FORM, "the plugin %.*s is given twice",
				STR_ARG(p->list[i].name));
	return 0;
}

int plugins_read(struct plugins *p, const struct plugin_options *o)
{
	int r = 0;

	p->n = 0;
	for (const struct option_value *v = o->plugins.first; v && !r; v = v->next) {
		const char *value = v->text;
		struct str name = plugin_option_name(value);

		/* A plugin without a source is in the client already. */
		if (!value[name.n] && o->source_optional)
			continue;
		if (!value[name.n])
			return out_fail_usage(NEXT_FORM,
				"the plugin %s has neither a folder nor an image", value);
		if (p->n == INJECT_PLUGINS)
			return out_fail_usage("combine several plugins in one image",
				"more than %d plugins are given", INJECT_PLUGINS);
		p->list[p->n] = (struct plugin){.name = name, .top = -1};
		r = plugin_read_source(&p->list[p->n++], value);
	}
	return r ? r : plugin_sort_list(p);
}

void plugins_free(struct plugins *p)
{
	for (size_t i = 0; i < p->n; i++) {
		fd_close(&p->list[i].top);
		arena_reset(&p->list[i].arena);
	}
	p->n = 0;
}

void plugins_write_label(const struct plugins *p, struct buf *out)
{
	for (size_t i = 0; i < p->n; i++)
		buf_fmt(out, "%s%.*s=%s", i ? " " : "", STR_ARG(p->list[i].name),
			p->list[i].hash);
}
