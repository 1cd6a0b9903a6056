/* POST /list_files, in its job. */
#include "server/files/file_jobs.h"

#include "base/arena.h"
#include "base/utf8.h"
#include "limits.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <wctype.h>

struct list_item {
	const char *name;
	bool folder;
};

/* Takes the next code point, in lower case. ASCII is the fast path. */
static wint_t send_list_read_lower(struct str *s)
{
	unsigned char c = (unsigned char)*s->p;

	if (c >= 0x80)
		return towlower((wint_t)utf8_next(s));
	*s = str_skip(*s, 1);
	return c >= 'A' && c <= 'Z' ? (wint_t)(c - 'A' + 'a') : c;
}

/* Compares the code points in lower case. */
static int send_list_compare_names(const char *a, const char *b)
{
	struct str x = str_c(a), y = str_c(b);

	while (x.n && y.n) {
		wint_t p = send_list_read_lower(&x), q = send_list_read_lower(&y);

		if (p != q)
			return p < q ? -1 : 1;
	}
	if (x.n || y.n)
		return x.n ? 1 : -1;
	return strcmp(a, b);
}

static int send_list_compare_items(const void *a, const void *b)
{
	const struct list_item *x = a, *y = b;

	if (x->folder != y->folder)
		return x->folder ? -1 : 1;
	return send_list_compare_names(x->name, y->name);
}

struct listing {
	struct arena arena;
	struct buf items; /* of struct listed */
};

static int send_list_read_names(struct listing *l, DIR *list)
{
	struct dirent *e;

	while ((e = readdir(list))) {
		struct list_item item;
		struct stat st;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		/* Dangling links are left out. */
		if (fstatat(dirfd(list), e->d_name, &st, 0) < 0)
			continue;
		item.folder = S_ISDIR(st.st_mode);
		item.name = arena_cstr(&l->arena, str_c(e->d_name));
		if (!item.name)
			return -ENOMEM;
		buf_put(&l->items, &item, sizeof(item));
		if (l->items.err)
			return -ENOMEM;
	}
	return 0;
}

static void send_list_write_names(struct buf *out, struct listing *l)
{
	struct list_item *items = (struct list_item *)(void *)l->items.p;
	size_t n = l->items.n / sizeof(*items);
	struct jw_text t;
	struct jw w;

	if (n)
		qsort(items, n, sizeof(*items), send_list_compare_items);
	jw_init(&w, out);
	jw_array(&w);
	for (size_t i = 0; i < n; i++) {
		jw_text_begin(&t, &w);
		jw_text_put(&t, str_c(items[i].name));
		if (items[i].folder)
			jw_text_put(&t, STR("/"));
		jw_text_end(&t);
	}
	jw_end(&w);
}

int send_list(struct transfer_io *io, const struct transfer_request *ask)
{
	struct listing l;
	char path[FILE_PATH_MAX];
	DIR *list = NULL;
	int r = 0;

	arena_init(&l.arena, HTTP_REPLY_MAX);
	buf_init(&l.items, HTTP_REPLY_MAX);
	if (ask->path.n < sizeof(path)) {
		memcpy(path, ask->path.p, ask->path.n);
		path[ask->path.n] = '\0';
		list = opendir(path);
	}
	/* The contract has an empty list for a folder that cannot be listed. */
	if (list)
		r = send_list_read_names(&l, list);
	if (!r) {
		send_list_write_names(&io->buf, &l);
		r = transfer_reply_json(io, 200);
	}
	if (list)
		closedir(list);
	arena_reset(&l.arena);
	buf_free(&l.items);
	return r;
}
