#include "fs/history.h"

#include "limits.h"

#include <sys/mman.h>

struct history_entry {
	struct history_entry *older;
	size_t path_n;
	size_t text_n;
	char bytes[]; /* the path, the text */
};

static struct str path_of(const struct history_entry *e)
{
	return str_make(e->bytes, e->path_n);
}

static size_t size_of(const struct history_entry *e)
{
	return sizeof(*e) + e->path_n + e->text_n;
}

/*
 * The mapping is shared because fork(2) does not copy the page tables of shared
 * mappings: the history does not slow down the start of jobs.
 */
static struct history_entry *entry_new(struct str path, struct str text)
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

static void drop(struct history *h, struct history_entry **at)
{
	struct history_entry *e = *at;

	*at = e->older;
	h->bytes -= size_of(e);
	munmap(e, size_of(e));
}

/* Removes the entries beyond the limits, counted from the newest. */
static void trim(struct history *h)
{
	struct history_entry **at = &h->newest;
	struct str path = path_of(h->newest);
	size_t bytes = 0, of_file = 0;

	while (*at) {
		bool same = str_eq(path_of(*at), path);

		if (bytes + size_of(*at) > HISTORY_BYTES_MAX ||
			(same && of_file == HISTORY_PER_FILE)) {
			drop(h, at);
			continue;
		}
		bytes += size_of(*at);
		of_file += same;
		at = &(*at)->older;
	}
}

void history_push(struct history *h, struct str path, struct str text)
{
	struct history_entry *e;

	if (path.n > FILE_PATH_MAX || text.n > HISTORY_BYTES_MAX - 2 * FILE_PATH_MAX)
		return;
	e = entry_new(path, text);
	if (!e)
		return;
	e->older = h->newest;
	h->newest = e;
	h->bytes += size_of(e);
	trim(h);
}

bool history_newest(const struct history *h, struct str path, struct str *text)
{
	const struct history_entry *e = h->newest;

	while (e && !str_eq(path_of(e), path))
		e = e->older;
	if (e)
		*text = str_make(e->bytes + e->path_n, e->text_n);
	return e != NULL;
}

void history_pop(struct history *h, struct str path)
{
	struct history_entry **at = &h->newest;

	while (*at && !str_eq(path_of(*at), path))
		at = &(*at)->older;
	if (*at)
		drop(h, at);
}

void history_free(struct history *h)
{
	while (h->newest)
		drop(h, &h->newest);
}
