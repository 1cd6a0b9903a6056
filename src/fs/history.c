#include "fs/history.h"

#include "limits.h"

#include <sys/mman.h>

struct history_entry {
	struct history_entry *older;
	size_t path_n;
	size_t text_n;
	char bytes[]; /* the path, the text */
};

static struct str history_get_path(const struct history_entry *e)
{
	return str_make(e->bytes, e->path_n);
}

static size_t history_get_size(const struct history_entry *e)
{
	return sizeof(*e) + e->path_n + e->text_n;
}

/*
 * The mapping is shared because fork(2) does not copy the page tables of shared
 * mappings: the history does not slow down the start of jobs.
 */
static struct history_entry *history_entry_new(struct str path, struct str text)
{
	struct history_entry *e = mmap(NULL, sizeof(*e) + path.n + text.n,
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (e == MAP_FAILED)
		return NULL;
	e->path_n = path.n;
	e->text_n = text.n;
	if (path.n)
		memcpy(e->bytes, path.p, path.n);
	if (text.n)
		memcpy(e->bytes + path.n, text.p, text.n);
	return e;
}

static void history_drop_entry(struct history *h, struct history_entry **at)
{
	struct history_entry *e = *at;

	*at = e->older;
	h->bytes -= history_get_size(e);
	munmap(e, history_get_size(e));
}

/* Removes the entries beyond the limits, counted from the newest. */
static void history_trim(struct history *h)
{
	struct history_entry **at = &h->newest;
	struct str path = history_get_path(h->newest);
	size_t bytes = 0, of_file = 0;

	while (*at) {
		bool same = str_eq(history_get_path(*at), path);

		if (bytes + history_get_size(*at) > HISTORY_BYTES_MAX ||
			(same && of_file == HISTORY_PER_FILE)) {
			history_drop_entry(h, at);
			continue;
		}
		bytes += history_get_size(*at);
		of_file += same;
		at = &(*at)->older;
	}
}

void history_push(struct history *h, struct str path, struct str text)
{
	struct history_entry *e;

	if (path.n > FILE_PATH_MAX || text.n > HISTORY_BYTES_MAX - 2 * FILE_PATH_MAX)
		return;
	e = history_entry_new(path, text);
	if (!e)
		return;
	e->older = h->newest;
	h->newest = e;
	h->bytes += history_get_size(e);
	history_trim(h);
}

bool history_find_newest(const struct history *h, struct str path, struct str *text)
{
	const struct history_entry *e = h->newest;

	while (e && !str_eq(history_get_path(e), path))
		e = e->older;
	if (e)
		*text = str_make(e->bytes + e->path_n, e->text_n);
	return e != NULL;
}

void history_pop(struct history *h, struct str path)
{
	struct history_entry **at = &h->newest;

	while (*at && !str_eq(history_get_path(*at), path))
		at = &(*at)->older;
	if (*at)
		history_drop_entry(h, at);
}

void history_free(struct history *h)
{
	while (h->newest)
		history_drop_entry(h, &h->newest);
}
