/* Walks that stay below a folder, and the folder in which archives are unpacked. */
#include "base/fd.h"
#include "fs/put.h"
#include "fs/root.h"
#include "fs/unpack.h"
#include "limits.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static char top[] = "/tmp/od-root-XXXXXX";
static int dir = -1;

static void test_clean(void)
{
	static const struct {
		const char *path, *want;
		int r;
	} cases[] = {
		{"a", "a", 0},
		{"a/b", "a/b", 0},
		{"./a//b/./", "a/b", 0},
		{"..a/b..", "..a/b..", 0},
		{"", "", 1},
		{".", "", 1},
		{"./", "", 1},
		{"/a", NULL, ERR_SYNTAX},
		{"..", NULL, ERR_SYNTAX},
		{"a/../b", NULL, ERR_SYNTAX},
		{"a/..", NULL, ERR_SYNTAX},
		{"123456789/123456", NULL, -ENAMETOOLONG},
		{"123456789/12345", "123456789/12345", 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char out[16];

		is_int(root_normalize(str_c(cases[i].path), out, sizeof(out)), cases[i].r,
			"verdict on '%s'", cases[i].path);
		if (cases[i].want)
			is_str(out, cases[i].want, "what is left of it");
	}
	is_int(root_normalize(str_make("a\0b", 3), (char[8]){0}, 8), ERR_SYNTAX, "a NUL");
}

static uint64_t made;

static int opens(const char *path, bool make)
{
	int fd = root_open(dir, path, make ? &made : NULL);
	int r = fd < 0 ? fd : 0;

	fd_close(&fd);
	return r;
}

static void test_open(void)
{
	char deep[FILE_PATH_MAX + 8];

	is_int(opens("", false), 0, "the top itself");
	is_int(opens("a/b/c", false), -ENOENT, "nothing there");
	is_int(opens("a/b/c", true), 0, "made");
	is_int((long long)made, 3, "and counted");
	is_int(opens("a/b/c", false), 0, "found");
	ok(symlinkat("/etc", dir, "out") == 0, "a link out");
	ok(symlinkat("a", dir, "in") == 0, "a link that stays");
	ok(symlinkat("../..", dir, "a/up") == 0, "a link up");
	is_int(opens("out", false), -ENOTDIR, "is not followed");
	is_int(opens("out/ssl", false), -ENOTDIR, "in the middle");
	is_int(opens("out/new", true), -ENOTDIR, "nor made through");
	is_int(opens("in/b", false), -ENOTDIR, "nor one that stays");
	is_int(opens("a/up/etc", false), -ENOTDIR, "nor a way up");
	memset(deep, 'a', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	is_int(opens(deep, true), -ENAMETOOLONG, "a name that is too long");
	deep[300] = '/';
	deep[301] = '\0';
	is_int(opens(deep, true), -ENAMETOOLONG, "a part that is");
}

static void fill(struct unpack *u, const char *name, const char *text)
{
	int fd = unpack_file(u, str_c(name), 04755);

	ok(fd >= 0, "%s can be unpacked", name);
	if (fd >= 0 && fd_write_all(fd, text, strlen(text)) < 0)
		ok(false, "it is written");
	fd_close(&fd);
}

static const char *content(const char *name)
{
	static char text[64];
	int fd = fd_openat(dir, name, O_RDONLY, 0);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	fd_close(&fd);
	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? NULL : text;
}

static void test_unpack(void)
{
	struct unpack u;
	struct stat st;

	ok(unpack_begin(&u, dir) == 0, "a stage");
	fill(&u, "a/b/c/f", "1");
	fill(&u, "a/g", "2");
	fill(&u, "new/deep/h", "3");
	is_int(unpack_dir(&u, STR("./"), 0755), 0, "the top is there");
	is_int(unpack_dir(&u, STR("empty/"), 0), 0, "a folder");
	is_int(unpack_file(&u, STR("../x"), 0644), ERR_SYNTAX, "a way out");
	is_int(unpack_file(&u, STR("/x"), 0644), ERR_SYNTAX, "an absolute one");
	is_int(unpack_file(&u, STR("a/g/x"), 0644), -ENOTDIR, "below a file");
	is_int(unpack_symlink(&u, STR("l"), STR("./a/g"), false), 0, "a link");
	is_int(unpack_symlink(&u, STR("a/l"), STR("../../x"), false), ERR_SYNTAX,
		"a link out");
	is_int(unpack_symlink(&u, STR("a/b/top"), STR("../.."), false), 0, "a link up");
	is_int(unpack_symlink(&u, STR("p"), STR("a/b/top/../x"), false), ERR_SYNTAX,
		"and one through it");
	is_int(unpack_hardlink(&u, STR("p"), STR("a/b/top"), false), ERR_SYNTAX,
		"or with another place");
	is_int(unpack_hardlink(&u, STR("a/b/p"), STR("a/b/top"), false), 0,
		"where it stays inside");
	is_int(unpack_symlink(&u, STR("m"), STR("/x"), true), 0, "if that is wanted");
	is_int(unpack_hardlink(&u, STR("q"), STR("m"), true), 0, "with two names");
	is_int(unpack_file(&u, STR("m/x"), 0644), -ENOTDIR, "but not through it");
	is_int(unpack_hardlink(&u, STR("n"), STR("a/g"), false), 0, "another name");
	is_int(unpack_hardlink(&u, STR("o"), STR("out/passwd"), false), -ENOENT,
		"only for what has come");
	is_int(content("a/g") != NULL, 0, "nothing is seen yet");
	is_int(unpack_commit(&u), 0, "into place");
	is_int(u.in_place, 0, "nothing was overwritten");
	unpack_end(&u);
	is_str(content("a/b/c/f"), "1", "into what was there");
	is_str(content("new/deep/h"), "3", "and beside it");
	is_str(content("l"), "2", "the link");
	is_str(content("n"), "2", "the other name");
	ok(fstatat(dir, "a/g", &st, 0) == 0 && (st.st_mode & 07777) == 0755, "mode");

	ok(unpack_begin(&u, dir) == 0, "another stage");
	fill(&u, "out/f", "x");
	is_int(unpack_commit(&u), -ENOTDIR, "through a link that was there");
	is_view(buf_view(&u.where), "out", "which is named");
	unpack_end(&u);
	ok(unpack_begin(&u, dir) == 0, "a stage that is given up");
	fill(&u, "a/gone", "x");
	fill(&u, "gone/gone", "x");
	unpack_end(&u);
	ok(!content("a/gone") && !content("gone/gone"), "leaves nothing");
}

/* Names that stand for many folders each, in an archive that is large already. */
static void test_folders(void)
{
	struct unpack u;
	char name[1024];
	unsigned n = 0;
	int r = 0;

	ok(unpack_begin(&u, dir) == 0, "a stage");
	u.entries = ARCHIVE_ENTRIES_MAX - 2000;
	for (; !r && n < 20; n++) {
		int at = snprintf(name, sizeof(name), "%u", n);

		while (at < 1000)
			at += snprintf(name + at, sizeof(name) - (size_t)at, "/d");
		r = unpack_dir(&u, str_c(name), 0755);
	}
	is_int(r, ERR_LIMIT, "folders above entries count, too");
	is_int(n, 5, "one by one");
	unpack_end(&u);
	is_int(opens(u.stage_name, false), -ENOENT, "and go, however deep");
}

static void test_put(void)
{
	struct put p;
	enum put_how how;
	struct stat st;

	ok(put_begin(&p, dir, "f") == 0, "a file");
	ok(put_data(&p, STR("one")) == 0, "some content");
	ok(!content("f"), "is not seen yet");
	p.mode = 0640;
	p.sync = true;
	is_int(put_commit(&p, &how, NULL), 0, "then it is");
	is_int(how, PUT_NEW, "new");
	put_end(&p);
	is_str(content("f"), "one", "whole");
	ok(put_begin(&p, dir, "f") == 0 && put_data(&p, STR("two")) == 0, "another");
	put_end(&p);
	is_str(content("f"), "one", "that is given up");
	ok(put_begin(&p, dir, "f") == 0 && put_data(&p, STR("two")) == 0, "another");
	is_int(put_commit(&p, &how, NULL), 0, "takes its place");
	put_end(&p);
	is_int(how, PUT_REPLACED, "as a new inode");
	ok(fstatat(dir, "f", &st, 0) == 0 && (st.st_mode & 07777) == 0640, "of its mode");
	is_int(put_begin(&p, dir, "a"), -EISDIR, "a folder is in the way");
	ok(mkfifoat(dir, "pipe", 0600) == 0, "a pipe");
	is_int(put_begin(&p, dir, "pipe"), -EEXIST, "is, too");
	ok(put_begin(&p, dir, "out") == 0 && put_data(&p, STR("x")) == 0, "a link");
	is_int(put_commit(&p, &how, NULL), 0, "is replaced");
	put_end(&p);
	is_str(content("out"), "x", "and not followed");
}

static void test_remove(void)
{
	is_int(root_remove(dir, "nothing"), -ENOENT, "nothing to remove");
	ok(symlinkat("/etc", dir, "a/etc") == 0, "a link out");
	is_int(root_remove(dir, "a"), 0, "a tree");
	is_int(opens("a", false), -ENOENT, "is gone");
	ok(access("/etc/passwd", F_OK) == 0, "and nothing else is");
	is_int(root_remove(dir, "f"), 0, "a file");
}

/* n folders in one another, the first called name. */
static bool make_deep(const char *name, unsigned n)
{
	int at = -1;

	for (unsigned i = 0; i < n; i++) {
		int above = i ? at : fd_dup(dir, 0);

		at = root_open(above, i ? "d" : name, &made);
		fd_close(&above);
		if (at < 0)
			return false;
	}
	return close(at) == 0;
}

static void test_remove_deep(void)
{
	ok(make_deep("deep", 3 * ARCHIVE_DEPTH_MAX), "a very deep tree");
	is_int(root_remove(dir, "deep"), 0, "can be removed");
	is_int(opens("deep", false), -ENOENT, "and is gone");
	ok(make_deep("a", 2), "a folder in a folder");
	for (size_t i = 0; i < 2; i++) {
		int below = root_open(dir, "a/d", NULL);

		is_int(root_remove(below, i ? ".." : "."), -EINVAL, "no name of its own");
		fd_close(&below);
	}
	is_int(opens("a/d", false), 0, "removes nothing");
	is_int(root_remove(dir, "a"), 0, "by its name it goes");
}

int main(void)
{
	if (!mkdtemp(top) || (dir = fd_open(top, O_PATH | O_DIRECTORY, 0)) < 0) {
		printf("Bail out! no folder\n");
		return 1;
	}
	umask(0);
	test_clean();
	test_open();
	test_unpack();
	test_folders();
	test_put();
	test_remove();
	test_remove_deep();
	is_int(root_remove(AT_FDCWD, top), 0, "the folder of this test");
	fd_close(&dir);
	return done_testing();
}
