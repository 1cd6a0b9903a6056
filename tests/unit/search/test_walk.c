#include "limits.h"
#include "search/walk.h"
#include "tests/tap.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/walk-XXXXXX";

static const char *in_top(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void make_file(const char *name, const char *text)
{
	FILE *f = fopen(in_top(name), "w");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

/* All that is found, folders with a slash, one blank behind each. */
static int list(const char *sub, struct walk_conf conf, struct buf *out, struct walk *w)
{
	struct walk_entry e;
	int r = walk_open(w, in_top(sub), &conf);

	buf_reset(out);
	while (!r && (r = walk_next(w, &e)) == 0) {
		buf_str(out, e.path);
		buf_puts(out, e.type == DT_DIR ? "/ " : " ");
	}
	buf_putc(out, '\0');
	return r;
}

static void check_list(
	const char *sub, struct walk_conf conf, const char *want, const char *name)
{
	struct buf out = BUF_INIT(65536);
	struct walk w;

	is_int(list(sub, conf, &out, &w), 1, "%s: to the end", name);
	is_str(out.p, want, "%s", name);
	walk_free(&w);
	buf_free(&out);
}

static void check_orders(void)
{
	mkdir(in_top("t"), 0755);
	mkdir(in_top("t/a"), 0755);
	mkdir(in_top("t/.h"), 0755);
	mkdir(in_top("t/empty"), 0755);
	make_file("t/a/x", "");
	make_file("t/a.c", "");
	make_file("t/a-b", "");
	make_file("t/.h/in", "");
	make_file("t/a/.y", "");
	mkfifo(in_top("t/fifo"), 0644);
	ok(symlink("a", in_top("t/link")) == 0, "a link to a folder");
	ok(symlink("..", in_top("t/a/up")) == 0, "a link that goes round");
	check_list("t", (struct walk_conf){.hidden = false},
		"a-b a.c a/ a/up a/x empty/ fifo link ", "sorted as whole paths");
	check_list("t", (struct walk_conf){.hidden = true},
		".h/ .h/in a-b a.c a/ a/.y a/up a/x empty/ fifo link ",
		"with hidden ones");
	check_list("t/link", (struct walk_conf){.hidden = false}, "up x ",
		"the top itself may be a link");
	check_list("t", (struct walk_conf){.depth = 1}, "a-b a.c a/ empty/ fifo link ",
		"one level");
}

static void check_found_order(void)
{
	struct walk_conf conf = {.order = WALK_FOUND, .hidden = true};
	bool files = true, good = true;
	struct walk_entry e;
	struct walk w;
	int n = 0, r = walk_open(&w, in_top("t"), &conf);

	while (!r && (r = walk_next(&w, &e)) == 0) {
		bool inner = memchr(e.path.p, '/', e.path.n);

		n++;
		if (e.type == DT_DIR)
			files = false;
		else if (!inner)
			good &= files;
	}
	ok(r == 1 && n == 11 && good, "files come before folders");
	walk_free(&w);
}

static void check_skip(void)
{
	struct walk_conf conf = {.hidden = false};
	struct walk_entry e;
	struct walk w;
	int n = 0, r = walk_open(&w, in_top("t"), &conf);

	while (!r && (r = walk_next(&w, &e)) == 0) {
		if (e.type == DT_DIR)
			walk_skip(&w);
		n++;
	}
	is_int(n, 6, "a folder can be skipped");
	walk_free(&w);
	is_int(walk_open(&w, in_top("none"), &conf), -ENOENT, "no such folder");
	walk_free(&w);
	is_int(walk_open(&w, in_top("t/a.c"), &conf), -ENOTDIR, "a file is none");
	walk_free(&w);
}

static void check_rules(void)
{
	struct walk_conf conf = {.ignore = true, .hidden = true};

	mkdir(in_top("g"), 0755);
	mkdir(in_top("g/.git"), 0755);
	mkdir(in_top("g/.git/info"), 0755);
	mkdir(in_top("g/s"), 0755);
	mkdir(in_top("g/out"), 0755);
	make_file("g/.gitignore", "*.o\n/out/\n/s/only\n");
	make_file("g/.git/info/exclude", "private\n");
	make_file("g/s/.gitignore", "!keep.o\nz\n");
	make_file("g/s/keep.o", "");
	make_file("g/s/x.o", "");
	make_file("g/s/z", "");
	make_file("g/s/only", "");
	make_file("g/out/f", "");
	make_file("g/private", "");
	make_file("g/z", "");
	check_list("g", conf, ".gitignore s/ s/.gitignore s/keep.o z ", "rules of git");
	check_list("g/s", conf, ".gitignore keep.o ", "rules from above the top");
	conf.ignore = false;
	conf.hidden = false;
	check_list("g", conf, "out/ out/f private s/ s/keep.o s/only s/x.o s/z z ",
		"none of them unless asked for");
}

static void check_unreadable(void)
{
	struct walk_conf conf = {.hidden = false};
	struct buf out = BUF_INIT(65536);
	struct walk w;

	mkdir(in_top("u"), 0755);
	mkdir(in_top("u/locked"), 0);
	make_file("u/z", "");
	if (geteuid() == 0 && seteuid(65534) < 0)
		printf("# stays root\n");
	if (access(in_top("u/locked"), R_OK) == 0 && geteuid() == 0) {
		skip("a locked folder", "this user may read everything");
	} else {
		chmod(top, 0755);
		is_int(list("u", conf, &out, &w), 1, "what cannot be read is passed");
		is_str(out.p, "locked/ z ", "the rest is found");
		is_int(w.unreadable, 1, "and counted");
		walk_free(&w);
	}
	if (seteuid(0) < 0)
		printf("# was not root\n");
	buf_free(&out);
}

static void check_depth(void)
{
	struct walk_conf conf = {.hidden = false};
	struct walk_entry e;
	struct walk w;
	char path[4096];
	size_t n = (size_t)snprintf(path, sizeof(path), "%s/deep", top);
	int found = 0, r;

	for (int i = 0; i < WALK_DEPTH_MAX + 5; i++) {
		mkdir(path, 0755);
		n += (size_t)snprintf(path + n, sizeof(path) - n, "/d");
	}
	r = walk_open(&w, in_top("deep"), &conf);
	while (!r && (r = walk_next(&w, &e)) == 0)
		found++;
	is_int(r, 1, "a deep tree ends");
	is_int(found, WALK_DEPTH_MAX, "at the last level that is allowed");
	is_int(w.too_deep, 1, "which is counted");
	walk_free(&w);
}

/* Names as they may be. */
static void check_names(void)
{
	mkdir(in_top("n"), 0755);
	make_file("n/a\nb", "");
	make_file("n/\xff\xfe", "");
	make_file("n/ ", "");
	check_list("n", (struct walk_conf){.hidden = false}, "  a\nb \xff\xfe ",
		"odd names");
}

int main(void)
{
	char command[64];

	umask(0);
	if (!mkdtemp(top))
		return 1;
	chmod(top, 0755);
	check_orders();
	check_found_order();
	check_skip();
	check_rules();
	check_unreadable();
	check_depth();
	check_names();
	snprintf(command, sizeof(command), "rm -rf %s", top);
	if (system(command))
		printf("# %s stays\n", top);
	return done_testing();
}
