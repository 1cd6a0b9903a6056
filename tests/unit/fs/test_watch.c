/* The engine of watches, fed with records that are made here. */
#include "fs/watch.h"

#include "base/err.h"
#include "limits.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/inotify.h>

/* What the engine says is written down; what it looks at is found if it is listed. */
struct stage {
	struct watch *w;
	struct buf said;
	const char *const *there; /* paths of folders, with their watches: "a/b=3" */
	const char *const *names; /* what else is there, see on_there */
	const char *hidden;
	uint64_t fed;  /* when records are, monotonic ms */
	int answer;    /* of event */
	bool careless; /* what is found counts, whatever the records say */
};

static int on_event(void *arg, const struct watch_event *e)
{
	static const char kinds[] = {'+', 'w', '-', '>', 'm'};
	struct stage *s = arg;

	buf_fmt(&s->said, "%c%.*s", kinds[e->kind], STR_ARG(e->path));
	if (e->kind == WATCH_RENAME)
		buf_fmt(&s->said, "<%.*s", STR_ARG(e->from));
	buf_puts(&s->said, e->dir ? "/ " : " ");
	return s->answer;
}

static int on_look(void *arg, struct watch_folder *parent, const char *name)
{
	struct stage *s = arg;
	struct buf path = BUF_INIT(8192);
	struct watch_folder *f;
	int r = WATCH_ABSENT;

	watch_tree_put_path(parent, &path);
	if (path.n)
		buf_putc(&path, '/');
	buf_puts(&path, name);
	buf_fmt(&s->said, "?%.*s ", STR_ARG(buf_view(&path)));
	buf_putc(&path, '=');
	for (const char *const *at = s->there; at && *at; at++)
		if (str_starts(str_c(*at), buf_view(&path)) &&
			(s->careless || watch_is_settled(s->w, parent, name)))
			r = watch_add_folder(s->w, parent, name, (*at)[path.n] - '0', &f);
	buf_free(&path);
	return r;
}

/* Names at the top; those of folders end with a slash. */
static int on_there(void *arg, struct watch_folder *f, const char *name, bool *dir)
{
	struct stage *s = arg;

	for (const char *const *at = s->names; !f->parent && at && *at; at++) {
		size_t n = strlen(name);

		*dir = (*at)[n] == '/';
		if (strncmp(*at, name, n) == 0 && (!(*at)[n] || *dir))
			return 0;
	}
	return WATCH_ABSENT;
}

static void on_forget(void *arg, int wd)
{
	struct stage *s = arg;

	buf_fmt(&s->said, "x%d ", wd);
}

static bool on_hide(void *arg, struct str path, bool dir)
{
	const struct stage *s = arg;

	(void)dir;
	return s->hidden && str_ends(path, str_c(s->hidden));
}

static const struct watch_ops deep = {on_event, on_look, on_there, on_forget, on_hide};
static const struct watch_ops flat = {on_event, NULL, on_there, on_forget, NULL};

static void set_up(struct stage *s, const struct watch_ops *ops)
{
	struct watch_folder *f;

	*s = (struct stage){.w = calloc(1, sizeof(struct watch)), .fed = 1000};
	buf_init(&s->said, 1 << 20);
	watch_init(s->w, ops, s);
	if (watch_add_folder(s->w, NULL, "", 1, &f))
		abort();
}

static void tear_down(struct stage *s)
{
	watch_free(s->w);
	free(s->w);
	buf_free(&s->said);
}

/* One record: "WD NAME" or "WD" alone. */
static void put(struct buf *out, uint32_t mask, int wd, uint32_t cookie, const char *name)
{
	struct inotify_event e = {.wd = wd, .mask = mask, .cookie = cookie};
	size_t n = *name ? strlen(name) + 1 : 0;

	e.len = (uint32_t)((n + 15) / 16 * 16);
	buf_put(out, &e, sizeof(e));
	for (size_t i = 0; i < e.len; i++)
		buf_putc(out, i < n ? name[i] : '\0');
}

struct line {
	uint32_t mask;
	int wd;
	uint32_t cookie;
	const char *name;
};

enum { DIR = (int)IN_ISDIR, FROM = IN_MOVED_FROM, TO = IN_MOVED_TO };

/* Feeds them in pieces of step bytes, 0: at once; runs at the time given. */
static int play(struct stage *s, const struct line *l, size_t step, uint64_t now)
{
	struct buf in = BUF_INIT(1 << 16);
	struct str rest;
	int r = 0;

	for (; l->mask; l++)
		put(&in, l->mask, l->wd, l->cookie, l->name);
	rest = buf_view(&in);
	while (rest.n && !r) {
		size_t n = step && step < rest.n ? step : rest.n;
		char *copy = malloc(n);

		memcpy(copy, rest.p, n);
		r = watch_feed(s->w, str_make(copy, n), s->fed);
		free(copy);
		rest = str_skip(rest, n);
		if (step && !r)
			r = watch_run(s->w, s->fed);
	}
	buf_free(&in);
	return r ? r : watch_run(s->w, now);
}

static void is_said(struct stage *s, const char *want, const char *name)
{
	is_view(buf_view(&s->said), want, "%s", name);
	buf_reset(&s->said);
}

#define LINES(...) ((const struct line[]){__VA_ARGS__, {0}})

static void test_kinds(void)
{
	static const char *const there[] = {"d=2", "d/e=3", NULL};
	const struct line *lines = LINES({IN_CREATE, 1, 0, "f"},
		{IN_CLOSE_WRITE, 1, 0, "f"}, {IN_ATTRIB, 1, 0, "f"},
		{IN_CREATE | DIR, 1, 0, "d"}, {FROM, 1, 7, "f"}, {TO, 2, 7, "g"},
		{IN_CREATE | DIR, 2, 0, "e"}, {FROM | DIR, 1, 8, "d"},
		{TO | DIR, 1, 8, "new"}, {IN_CREATE, 3, 0, "deep"},
		{IN_DELETE, 3, 0, "deep"}, {IN_ATTRIB | DIR, 1, 0, ""},
		{IN_IGNORED, 3, 0, ""}, {IN_DELETE | DIR, 2, 0, "e"},
		{IN_ATTRIB | DIR, 2, 0, ""}, {IN_CREATE, 9, 0, "stranger"});
	const char *want = "+f wf mf +d/ ?d >d/g<f +d/e/ ?d/e >new<d/ +new/e/deep "
			   "-new/e/deep m./ x3 -new/e/ ";
	struct stage s;

	for (size_t step = 0; step < 200; step++) {
		set_up(&s, &deep);
		s.there = there;
		s.careless = true;
		is_int(play(&s, lines, step, 1000), 0, "steps of %zu", step);
		is_said(&s, want, "every kind");
		is_int((long long)watch_get_deadline(s.w), -1, "nothing is due");
		tear_down(&s);
	}
}

static void test_halves(void)
{
	struct stage s;

	set_up(&s, &flat);
	is_int(play(&s, LINES({FROM, 1, 5, "a"}, {IN_CREATE, 1, 0, "b"}), 0, 1000), 0,
		"half of a rename");
	is_said(&s, "", "all waits for the other");
	is_int((long long)watch_get_deadline(s.w), 1000 + WATCH_PAIR_MS, "for some time");
	is_int(watch_run(s.w, 1000 + WATCH_PAIR_MS), 0, "it is over");
	is_said(&s, "-a +b ", "moved away is removed");
	is_int(play(&s, LINES({FROM, 1, 6, "a"}), 0, 1000), 0, "half");
	is_int(play(&s, LINES({IN_CREATE, 1, 0, "x"}, {TO, 1, 6, "c"}), 0, 1001), 0,
		"the other comes");
	is_said(&s, ">c<a +x ", "a rename, at the place of its first half");
	is_int(play(&s, LINES({TO | DIR, 1, 9, "in"}), 0, 1001), 0, "moved here");
	is_said(&s, "+in/ ", "is made");
	tear_down(&s);
}

/* However long each record lets the reader wait: a blank is more than it does. */
static void test_exchange(void)
{
	static const struct line r[] = {{FROM | DIR, 1, 1, "a"}, {TO | DIR, 1, 1, "b"},
		{FROM, 1, 2, "b"}, {TO, 1, 2, "a"}, {0}};
	static const struct {
		const char *cut;
		int end;
		const char *said;
	} cases[] = {
		{"0123", WATCH_GAP, ">b<a/ "},
		{"01 23", WATCH_GAP, ">b<a/ "},
		{"0 1 23", WATCH_GAP, "x2 -a/ +a +b/ ?b "},
		{"01 2 3", 0, ">b<a/ x2 -b +b/ ?b +a "},
		{"0 1 2 3", 0, "x2 -a/ +a +b/ ?b -b +b/ ?b +a "},
	};
	struct line one[2] = {{0}};
	struct stage s;
	int end;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		set_up(&s, &deep);
		s.there = (const char *const[]){"a=2", NULL};
		end = play(&s,
			LINES({IN_CREATE | DIR, 1, 0, "a"}, {IN_CREATE, 1, 0, "b"}), 0,
			1000);
		is_said(&s, "+a/ ?a +b ", "a folder and a file");
		s.there = NULL;
		s.names = (const char *const[]){"a", "b/", NULL};
		for (const char *c = cases[i].cut; !end && *c; c++) {
			if (*c == ' ') {
				s.fed += WATCH_PAIR_MS;
				end = watch_run(s.w, s.fed);
				continue;
			}
			one[0] = r[*c - '0'];
			end = play(&s, one, 0, s.fed);
		}
		is_int(end, cases[i].end, "exchanged: %s", cases[i].cut);
		is_said(&s, cases[i].said, "is told, or cannot be");
		tear_down(&s);
	}
	set_up(&s, &flat);
	s.names = (const char *const[]){"a", "b/", NULL};
	is_int(play(&s, r, 0, 1000), WATCH_GAP, "all at once");
	tear_down(&s);
	set_up(&s, &flat);
	s.names = (const char *const[]){"a/", NULL};
	is_int(play(&s, r, 0, 1000), 0, "there and back");
	is_said(&s, ">b<a/ >a<b ", "are two renames");
	tear_down(&s);
	set_up(&s, &flat);
	s.names = (const char *const[]){"a/", NULL};
	is_int(play(&s,
		       LINES(r[0], r[1], r[2], r[3], r[0], r[1], r[2], r[3],
			       {IN_CREATE, 1, 0, "b"}),
		       0, 1000),
		0, "twice, and something is made there");
	is_said(&s, ">b<a/ >a<b >b<a/ >a<b +b ", "all is told");
	is_int(play(&s, LINES(r[0], r[1], r[2], r[3], {IN_DELETE, 1, 0, "b"}), 0, 1000),
		WATCH_GAP, "exchanged, and removed since");
	tear_down(&s);
	set_up(&s, &deep);
	s.hidden = "~";
	s.names = (const char *const[]){"a~", "b~", NULL};
	is_int(play(&s,
		       LINES({FROM, 1, 1, "a~"}, {TO, 1, 1, "b~"}, {FROM, 1, 2, "b~"},
			       {TO, 1, 2, "a~"}),
		       0, 1000),
		0, "what is hidden may be exchanged");
	is_said(&s, "", "without a word");
	s.names = (const char *const[]){"in", NULL};
	is_int(play(&s, LINES({TO, 1, 3, "in"}, {FROM, 1, 4, "in"}), 0, 1000), 0,
		"with something outside");
	is_int(watch_run(s.w, 1000 + WATCH_PAIR_MS), 0, "whose record does not come");
	is_said(&s, "+in -in +in ", "it is there in the end");
	tear_down(&s);
}

static void test_places(void)
{
	size_t same = 0;

	for (int a = 1; a < 100; a++)
		for (int b = 1; b < 100; b++)
			same += a != b &&
				watch_moves_hash_place(a, "1.log") ==
					watch_moves_hash_place(b, "2.log");
	is_int((long long)same, 0, "names in neighbouring folders are told apart");
}

static void test_writes(void)
{
	char name[16];
	struct stage s;

	set_up(&s, &flat);
	is_int(play(&s, LINES({IN_MODIFY, 1, 0, "f"}, {IN_MODIFY, 1, 0, "f"}), 0, 1000),
		0, "a burst");
	is_said(&s, "", "nothing yet");
	is_int((long long)watch_get_deadline(s.w), 1000 + WATCH_WRITE_MS, "but soon");
	is_int(watch_run(s.w, 1000 + WATCH_WRITE_MS), 0, "then");
	is_said(&s, "wf ", "it is told once");
	is_int(play(&s,
		       LINES({IN_MODIFY, 1, 0, "f"}, {IN_CLOSE_WRITE, 1, 0, "f"},
			       {IN_MODIFY, 1, 0, "f"}, {FROM, 1, 1, "f"}, {TO, 1, 1, "g"},
			       {IN_MODIFY, 1, 0, "h"}, {IN_DELETE, 1, 0, "h"}),
		       0, 1000),
		0, "closed, renamed, removed");
	is_said(&s, "wf wf >g<f -h ", "each is told in time");
	for (int i = 0; i <= WATCH_DIRT_MAX; i++) {
		snprintf(name, sizeof(name), "%d", i);
		if (play(&s, LINES({IN_MODIFY, 1, 0, name}), 0, 1000 + (uint64_t)i))
			ok(false, "file %d", i);
	}
	is_said(&s, "w0 ", "with too many the first is told");
	tear_down(&s);
}

static void test_lost(void)
{
	static const char *const later[] = {"q/d=3", NULL};
	struct stage s;

	set_up(&s, &deep);
	s.there = (const char *const[]){"p=2", NULL};
	is_int(play(&s, LINES({IN_CREATE | DIR, 1, 0, "p"}, {IN_CREATE | DIR, 2, 0, "d"}),
		       0, 1000),
		0, "a folder that is not where it was made");
	is_said(&s, "+p/ ?p +p/d/ ?p/d ", "is looked for");
	s.there = later;
	is_int(play(&s, LINES({FROM | DIR, 1, 1, "p"}, {TO | DIR, 1, 1, "q"}), 0, 1000),
		0, "what it is in was renamed");
	is_said(&s, ">q<p/ ?q/d ", "it is looked for again");
	is_int(play(&s, LINES({IN_CREATE, 3, 0, "f"}), 0, 1000), 0, "and watched");
	is_said(&s, "+q/d/f ", "there");
	s.there = (const char *const[]){"n=4", "n/d=3", NULL};
	is_int(play(&s, LINES({IN_CREATE | DIR, 1, 0, "n"}, {IN_CREATE | DIR, 4, 0, "d"}),
		       0, 1000),
		0, "a known folder is found elsewhere");
	is_said(&s, "+n/ ?n +n/d/ ?n/d >n/d<q/d/ ", "it was moved");
	is_int(play(&s,
		       LINES({IN_CREATE | DIR, 1, 0, "z"}, {FROM | DIR, 1, 3, "z"},
			       {TO | DIR, 4, 3, "z"}, {IN_CREATE | DIR, 1, 0, "z"}),
		       0, 1000),
		0, "a name that stood for two folders");
	is_said(&s, "+z/ ?z -z/ +n/z/ ?n/z +z/ ?z ", "what was found is the later one");
	is_int(play(&s, LINES({IN_UNMOUNT, 3, 0, ""}), 0, 1000), 0, "an unmount");
	is_said(&s, "x3 -n/d/ +n/d/ ?n/d ", "brings up what was below");
	is_int(play(&s, LINES({IN_DELETE | DIR, 1, 0, "n"}), 0, 1000), 0, "all of it");
	is_said(&s, "x3 x4 -n/ ", "is forgotten with its folder");
	tear_down(&s);
}

static void test_hidden(void)
{
	struct stage s;

	set_up(&s, &deep);
	s.hidden = "~";
	is_int(play(&s,
		       LINES({IN_CREATE | DIR, 1, 0, "a~"}, {IN_CLOSE_WRITE, 1, 0, "b~"},
			       {FROM, 1, 1, "b~"}, {TO, 1, 1, "b"}, {FROM, 1, 2, "b"},
			       {TO, 1, 2, "c~"}),
		       0, 1000),
		0, "what is hidden");
	is_said(&s, "+b -b ", "comes and goes");
	tear_down(&s);
}

static void test_ends(void)
{
	static const struct {
		uint32_t mask;
		int want;
		const char *name;
	} ends[] = {
		{IN_Q_OVERFLOW, WATCH_GAP, "an overflow"},
		{IN_DELETE_SELF, WATCH_REMOVED, "the top is removed"},
		{IN_IGNORED, WATCH_REMOVED, "its watch is gone"},
		{IN_MOVE_SELF, WATCH_MOVED, "the top is moved"},
		{IN_UNMOUNT, WATCH_UNMOUNTED, "the top is unmounted"},
	};
	struct stage s;

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		set_up(&s, &flat);
		is_int(play(&s, LINES({ends[i].mask, 1, 0, ""}), 0, 1000), ends[i].want,
			"%s", ends[i].name);
		tear_down(&s);
	}
	set_up(&s, &flat);
	s.answer = -EPIPE;
	is_int(play(&s, LINES({IN_CREATE, 1, 0, "f"}), 0, 1000), -EPIPE,
		"nobody takes the event");
	tear_down(&s);
}

static void test_bad(void)
{
	struct inotify_event e = {.wd = 1, .mask = IN_CREATE, .len = 1 << 20};
	struct stage s;
	size_t n = 0;
	int r;

	set_up(&s, &flat);
	is_int(watch_feed(s.w, str_make((char *)&e, sizeof(e)), 0), ERR_SYNTAX,
		"a name that is too long");
	tear_down(&s);
	set_up(&s, &flat);
	e.len = 16;
	r = watch_feed(s.w, str_make((char *)&e, sizeof(e)), 0);
	is_int(r, 0, "half a record");
	is_int(watch_feed(s.w, STR("0123456789abcdef"), 0), ERR_SYNTAX,
		"a name without its end");
	tear_down(&s);
	set_up(&s, &flat);
	e.len = 0;
	while ((r = watch_feed(s.w, str_make((char *)&e, sizeof(e)), 0)) == 0)
		n++;
	is_int(r, ERR_LIMIT, "more than there is room for");
	ok(n > 100000 && !watch_has_space(s.w), "which was told before");
	tear_down(&s);
}

static void test_many(void)
{
	struct watch_folder *f = NULL;
	struct stage s;
	char name[16];
	int r = 0;

	set_up(&s, &deep);
	for (int i = 2; !r && i < WATCH_FOLDERS_MAX + 10; i++) {
		snprintf(name, sizeof(name), "%d", i);
		r = watch_add_folder(s.w, s.w->tree.top, name, i, &f);
	}
	is_int(r, ERR_LIMIT, "there is a limit of folders");
	is_int((long long)s.w->tree.count, WATCH_FOLDERS_MAX, "and it is that");
	is_int(watch_add_folder(s.w, f, "in", 1, &f), WATCH_ABSENT,
		"the top does not lie in itself");
	tear_down(&s);
}

int main(void)
{
	test_kinds();
	test_halves();
	test_exchange();
	test_places();
	test_writes();
	test_lost();
	test_hidden();
	test_ends();
	test_bad();
	test_many();
	return done_testing();
}
