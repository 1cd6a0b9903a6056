/*
 * Records of inotify: the same events whole and cut into pieces, and a tree of folders
 * that holds together. The first two bytes choose what is found where, and the pieces;
 * the rest are records, or four bytes for each.
 */
#include "fs/watch.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/inotify.h>

struct stage {
	struct watch *w;
	struct buf said;
	unsigned seed;
};

static int on_event(void *arg, const struct watch_event *e)
{
	struct stage *s = arg;

	buf_putc(&s->said, (char)('0' + e->kind));
	buf_str(&s->said, e->path);
	buf_putc(&s->said, '<');
	buf_str(&s->said, e->from);
	return 0;
}

/* Small numbers, so that known folders are found at other places. */
static int on_look(void *arg, struct watch_folder *parent, const char *name)
{
	struct stage *s = arg;
	struct watch_folder *f;

	s->seed = s->seed * 1103515245 + 12345;
	if (s->seed >> 16 & 1)
		return WATCH_ABSENT;
	return watch_add_folder(s->w, parent, name, (int)(s->seed >> 18 & 15), &f);
}

static int on_there(void *arg, struct watch_folder *f, const char *name, bool *dir)
{
	struct stage *s = arg;

	(void)f;
	s->seed = s->seed * 1103515245 + 12345;
	*dir = name[0] & 1;
	return s->seed >> 16 & 1 ? WATCH_ABSENT : 0;
}

static void on_forget(void *arg, int wd)
{
	struct stage *s = arg;

	buf_putc(&s->said, (char)('a' + (wd & 15)));
}

static int run(const uint8_t *p, size_t n, size_t step, unsigned seed, struct buf *said)
{
	static const struct watch_ops ops = {
		on_event, on_look, on_there, on_forget, NULL};
	struct stage s = {.w = calloc(1, sizeof(*s.w)), .said = BUF_INIT(1 << 24)};
	struct watch_folder *f;
	int r;

	s.seed = seed;
	watch_init(s.w, &ops, &s);
	r = watch_add_folder(s.w, NULL, "", 1, &f);
	while (!r && n) {
		size_t part = step < n ? step : n;
		char *copy = malloc(part);

		memcpy(copy, p, part);
		r = watch_feed(s.w, str_make(copy, part), 0);
		free(copy);
		p += part;
		n -= part;
	}
	/* Late enough for all that waits. */
	if (!r)
		r = watch_run(s.w, 1000);
	for (f = s.w->tree.top; f; f = watch_tree_next(s.w->tree.top, f)) {
		assert(watch_tree_find_child(&s.w->tree, f->parent, f->name));
		assert(f->wd < 0 || watch_tree_find_wd(&s.w->tree, f->wd) == f);
		s.w->tree.count--;
	}
	assert(s.w->tree.count == 0);
	watch_free(s.w);
	free(s.w);
	*said = s.said;
	return r;
}

/* Few watches, few names, so that they meet. */
static void expand(const uint8_t *p, size_t n, struct buf *out)
{
	static const uint32_t masks[] = {IN_CREATE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO,
		IN_MODIFY, IN_CLOSE_WRITE, IN_ATTRIB, IN_CREATE | IN_ISDIR,
		IN_DELETE | IN_ISDIR, IN_MOVED_FROM | IN_ISDIR, IN_MOVED_TO | IN_ISDIR,
		IN_ATTRIB | IN_ISDIR, IN_IGNORED, IN_UNMOUNT, IN_MOVED_FROM | IN_ISDIR,
		IN_MOVED_TO | IN_ISDIR};

	for (; n >= 4; p += 4, n -= 4) {
		char name[16] = {(char)('a' + (p[3] & 3))};
		struct inotify_event e = {
			.wd = p[1] & 15,
			.mask = masks[p[0] & 15],
			.cookie = p[2] & 3,
			.len = p[3] & 0x80 ? 0 : sizeof(name),
		};

		buf_put(out, &e, sizeof(e));
		buf_put(out, name, e.len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf whole, parts, in = BUF_INIT(1 << 20);
	const uint8_t *bytes;
	int a, b;

	if (n < 2)
		return 0;
	if (p[1] & 1)
		expand(p + 2, n - 2, &in);
	else
		buf_put(&in, p + 2, n - 2);
	bytes = (const uint8_t *)in.p;
	a = run(bytes, in.n, in.n, p[0], &whole);
	b = run(bytes, in.n, 1 + p[1], p[0], &parts);
	assert(a == b);
	assert(str_eq(buf_view(&whole), buf_view(&parts)));
	buf_free(&whole);
	buf_free(&parts);
	buf_free(&in);
	return 0;
}
