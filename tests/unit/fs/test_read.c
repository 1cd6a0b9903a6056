#include "base/fd.h"
#include "fs/read.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, LONG_LINES = 400000 };

static char top[] = "/tmp/od-read-XXXXXX";

static struct buf content = BUF_INIT(FILE_CONTENT_MAX);
static struct buf why = BUF_INIT(FILE_WORDS_MAX);

static const struct line_range all = {0, -1};

static int read_path(const char *sent, struct line_range range)
{
	struct file_path p;
	int r;

	buf_reset(&content);
	buf_reset(&why);
	r = file_path_make(&p, str_c(top), str_c(sent), &why);
	return r ? r : file_read(&p, str_c(top), range, &content, &why);
}

static void put(const char *name, const char *p, size_t n)
{
	int fd = fd_open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd_write_all(fd, p, n))
		ok(false, "cannot prepare %s", name);
	fd_close(&fd);
}

/* The words with every mention of the test's folder as T. */
static const char *words(void)
{
	static char text[FILE_WORDS_MAX];
	struct str rest = buf_view(&why);
	size_t n = 0;

	while (rest.n && n < sizeof(text) - 1) {
		if (str_starts(rest, str_c(top))) {
			text[n++] = 'T';
			rest = str_skip(rest, strlen(top));
		} else {
			text[n++] = rest.p[0];
			rest = str_skip(rest, 1);
		}
	}
	text[n] = '\0';
	return text;
}

struct range_row {
	struct line_range range;
	const char *want;
};

static void check_ranges(void)
{
	static const struct range_row rows[] = {
		{{0, -1}, "one\ntwo\nthree"},
		{{1, 2}, "two\n"},
		{{0, 0}, "one\n"},
		{{1, -1}, "two\nthree"},
		{{2, 3}, "two\nthree"},
		{{9, 10}, "two\nthree"},
		{{9, -1}, ""},
		{{-5, 2}, "one\ntwo\n"},
		{{0, 99}, "one\ntwo\nthree"},
		{{2, 0}, "two\n"},
		{{1, 1}, "two\n"},
		{{0, -2}, "one\n"},
	};

	put("a.txt", "one\r\ntwo\rthree", 14);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct line_range r = rows[i].range;

		is_int(read_path("a.txt", r), 0, "read (%d, %d)", (int)r.start,
			(int)r.end);
		is_view(buf_view(&content), rows[i].want, "lines (%d, %d)", (int)r.start,
			(int)r.end);
	}
}

static void check_texts(void)
{
	put("empty", "", 0);
	is_int(read_path("empty", all), 0, "an empty file");
	is_int(content.n, 0, "has no content");
	is_int(read_path("empty", (struct line_range){0, 5}), 0, "nor any lines");
	put("bom", "\xef\xbb\xbfgr\xc3\xbc\xc3\x9f\n", 10);
	is_int(read_path("bom", all), 0, "UTF-8 with its mark");
	is_view(buf_view(&content), "\xef\xbb\xbfgr\xc3\xbc\xc3\x9f\n", "comes as it is");
	put("latin",
		"stra\xdf"
		"e\n",
		7);
	is_int(read_path("latin", all), ERR_UTF8, "Latin-1");
	is_str(words(), "File could not be decoded as utf-8: T/latin.", "its words");
	put("cut", "abc\xe6\x97", 5);
	is_int(read_path("cut", all), ERR_UTF8, "a cut character at the end");
	put("utf16",
		"\xff\xfe"
		"a\0\n\0",
		6);
	is_int(read_path("utf16", all), ERR_UTF8, "UTF-16 is text, but not ours");
	put("nul", "ab\0c", 4);
	is_int(read_path("nul", all), ERR_TYPE, "a NUL byte");
	is_str(words(), "ERROR_BINARY_FILE", "its words");
	put("x.pyc", "text", 4);
	is_int(read_path("x.pyc", all), ERR_TYPE, "compiled Python by its name");
	is_int(read_path("./d/../empty", all), -ENOENT, "the kernel follows ..");
}

/* Pure CJK whose probe ends inside a character, and NUL behind the probe. */
static void check_probe(void)
{
	char text[3 * TEXT_PROBE];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "\xe6\x97\xa5"[i % 3];
	put("cjk", text, sizeof(text));
	is_int(read_path("cjk", all), 0, "CJK cut by the probe");
	is_mem(content.p, content.n, text, sizeof(text), "all of it");
	put("cjk", text + 1, sizeof(text) - 1);
	is_int(read_path("cjk", all), ERR_TYPE, "high bytes that are no UTF-8");
	memset(text, 'a', sizeof(text));
	text[2 * TEXT_PROBE] = '\0';
	put("late", text, sizeof(text));
	is_int(read_path("late", all), 0, "a NUL behind the probe");
	is_mem(content.p, content.n, text, sizeof(text), "is content");
}

static void check_urls(void)
{
	put("a.PNG", "\x89PNG\0\xff", 6);
	is_int(read_path("a.PNG", (struct line_range){3, 4}), 0, "an image");
	is_view(buf_view(&content), "data:image/png;base64,iVBORwD/", "as a data URL");
	put("none.gif", "", 0);
	is_int(read_path("none.gif", all), 0, "an empty image");
	is_view(buf_view(&content), "data:image/gif;base64,", "as a data URL");
	put("a.pdf", "text", 4);
	is_int(read_path("a.pdf", all), 0, "text that is called a PDF");
	is_view(buf_view(&content), "data:application/pdf;base64,dGV4dA==", "is one");
	is_int(read_path("gone.png", all), -ENOENT, "an image that is not there");
	put("big.mp4", "", 0);
	is_int(truncate("big.mp4", 100000), 0, "a video of several pieces");
	is_int(read_path("big.mp4", all), 0, "is read");
	is_int(content.n, strlen("data:video/mp4;base64,") + (100000 + 2) / 3 * 4,
		"as one text");
	ok(str_ends(buf_view(&content), STR("AAAA==")), "padded at its end only");
	is_int(str_find_byte(buf_view(&content), '=') + 2, content.n, "and not before");
	is_int(truncate("big.mp4", FILE_READ_MAX), 0, "a video at the limit");
	is_int(read_path("big.mp4", all), 0, "is read");
	is_int(truncate("big.mp4", FILE_READ_MAX + 1), 0, "a video behind it");
	is_int(read_path("big.mp4", all), ERR_LIMIT, "is not");
	is_str(words(),
		"File is too large: T/big.mp4 has 16777217 bytes, and at most 16777216 "
		"bytes can be read at once.",
		"its words");
}

static void check_missing(void)
{
	is_int(read_path("nope", all), -ENOENT, "a missing file");
	is_str(words(), "File not found: T/nope. Your current working directory is T.",
		"its words");
	is_int(symlink("nope", "dangling"), 0, "a link into nowhere");
	is_int(read_path("dangling", all), -ENOENT, "is missing too");
	is_int(read_path("a.txt/b", all), -ENOTDIR, "a file as a folder");
	is_str(words(), "File could not be read: T/a.txt/b: Not a directory",
		"its words");
	is_int(symlink("loop", "loop"), 0, "a link to itself");
	is_int(read_path("loop", all), -ELOOP, "is refused");
	is_int(symlink("a.txt", "link"), 0, "a link to a file");
	is_int(read_path("link", all), 0, "is followed");
}

/* None of these may wait, be opened for long or be consumed. */
static void check_kinds(void)
{
	is_int(read_path(".", all), ERR_TYPE, "a folder");
	is_str(words(), "Path is a directory: T. You can only read files", "its words");
	is_int(mkdir("x.png", 0755), 0, "a folder called as an image");
	is_int(read_path("x.png", all), ERR_TYPE, "stays a folder");
	is_int(mkfifo("fifo", 0644), 0, "a named pipe");
	is_int(read_path("fifo", all), ERR_TYPE, "is refused");
	is_str(words(), "Path is a named pipe: T/fifo. You can only read files",
		"its words");
	is_int(mknod("sock", S_IFSOCK | 0644, 0), 0, "a socket");
	is_int(read_path("sock", all), ERR_TYPE, "is refused");
	is_str(words(), "Path is a socket: T/sock. You can only read files", "its words");
	is_int(read_path("/dev/zero", all), ERR_TYPE, "a device");
	is_str(words(), "Path is a character device: /dev/zero. You can only read files",
		"its words");
}

static void check_proc(void)
{
	if (access("/proc/self/status", R_OK)) {
		skip("files of /proc", "not mounted");
		return;
	}
	is_int(read_path("/proc/self/status", all), 0, "size 0, but content");
	ok(str_starts(buf_view(&content), STR("Name:")), "its content");
	is_int(read_path("/proc/self/status", (struct line_range){1, 2}), 0, "a line");
	ok(str_starts(buf_view(&content), STR("Umask:")), "the second");
	is_int(read_path("/proc/sys/kernel/pid_max", all), 0, "a number");
	ok(content.n > 1, "is there");
	ok(read_path("/proc/self/mem", all) < 0 && why.n, "memory is no text");
	ok(read_path("/proc/self/pagemap", all) < 0 && why.n, "nor are its tables");
}

/* A text above the limit, of which lines near both ends are wanted. */
static void check_huge(void)
{
	FILE *f = fopen("huge", "w");

	for (int i = 0; f && i < LONG_LINES; i++)
		fprintf(f, "%07d %041d\xc3\xbc\r\n", i, 0);
	if (!f || fclose(f)) {
		ok(false, "cannot prepare a huge file");
		return;
	}
	is_int(read_path("huge", all), ERR_LIMIT, "a huge file");
	is_str(words(),
		"File is too large: T/huge has 21200000 bytes, and at most 16777216 "
		"bytes can be read at once. Use `start` and `end` to read fewer lines "
		"of it",
		"its words");
	is_int(read_path("huge", (struct line_range){5, 7}), 0, "two early lines of it");
	is_view(buf_view(&content),
		"0000005 00000000000000000000000000000000000000000\xc3\xbc\n"
		"0000006 00000000000000000000000000000000000000000\xc3\xbc\n",
		"lines 5 and 6");
	is_int(read_path("huge", (struct line_range){LONG_LINES - 1, -1}), 0, "its end");
	ok(str_starts(buf_view(&content), STR("0399999 ")), "is the last line");
	is_int(read_path("huge", (struct line_range){LONG_LINES + 9, LONG_LINES + 10}), 0,
		"a range behind it");
	ok(str_starts(buf_view(&content), STR("0399998 ")), "is the last two lines");
	is_int(content.n, 2 * 52, "both of them");
	is_int(read_path("huge", (struct line_range){1, LONG_LINES}), ERR_LIMIT,
		"a range that is huge itself");
	is_int(read_path("huge", (struct line_range){200000, 200001}), 0,
		"a character cut by a piece is put together");
}

/* A hole of 1 TB: whatever is asked must be answered after a bounded look. */
static void check_sparse(void)
{
	char line[80];

	put("sparse", "", 0);
	memset(line, 'x', sizeof(line));
	for (int i = 0; i < 20; i++) {
		int fd = fd_open("sparse", O_WRONLY | O_APPEND, 0);

		line[79] = '\n';
		if (fd_write_all(fd, line, sizeof(line)))
			ok(false, "cannot prepare");
		fd_close(&fd);
	}
	if (truncate("sparse", (off_t)1 << 40)) {
		skip("1 TB of nothing", "the file system takes no such file");
		return;
	}
	is_int(read_path("sparse", (struct line_range){5, 10}), 0, "lines before 1 TB");
	is_int(content.n, 5 * 80, "five of them");
	is_int(read_path("sparse", all), ERR_LIMIT, "1 TB of nothing");
	is_int(read_path("sparse", (struct line_range){19, 30}), ERR_LIMIT,
		"a line of 1 TB");
}

static int as_nobody(void)
{
	if (setgid(NOBODY) || setuid(NOBODY))
		return 10;
	if (read_path("secret", all) != -EACCES)
		return 11;
	if (strcmp(words(), "File could not be read: T/secret: Permission denied"))
		return 12;
	return read_path("a.txt", all) ? 13 : 0;
}

static void check_rights(void)
{
	int status = -1;
	pid_t pid;

	if (geteuid() != 0) {
		skip("rights of another user", "needs root");
		return;
	}
	put("secret", "x", 1);
	is_int(chmod("secret", 0600) || chmod(".", 0755), 0, "a secret of root's");
	pid = fork();
	if (pid == 0)
		_exit(as_nobody());
	is_int(waitpid(pid, &status, 0), pid, "another user ends");
	is_int(status, 0, "and is refused what is not his");
}

/* A content too small for the file is an error of its own, with words. */
static void check_small_content(void)
{
	struct buf small = BUF_INIT(100);
	struct file_path p;

	buf_reset(&why);
	is_int(file_path_make(&p, str_c(top), STR("late"), &why), 0, "a path");
	is_int(file_read(&p, str_c(top), all, &small, &why), ERR_LIMIT,
		"a content too small");
	ok(why.n > 0, "has words");
	buf_free(&small);
}

int main(void)
{
	static const char *const made[] = {"a.txt", "empty", "bom", "latin", "cut",
		"utf16", "nul", "x.pyc", "cjk", "late", "a.PNG", "none.gif", "a.pdf",
		"big.mp4", "dangling", "loop", "link", "fifo", "sock", "huge", "sparse",
		"secret"};

	if (!mkdtemp(top) || chdir(top))
		return 1;
	check_ranges();
	check_texts();
	check_probe();
	check_urls();
	check_missing();
	check_kinds();
	check_proc();
	check_huge();
	check_sparse();
	check_rights();
	check_small_content();
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		unlink(made[i]);
	rmdir("x.png");
	is_int(rmdir(top), 0, "nothing is left");
	buf_free(&content);
	buf_free(&why);
	return done_testing();
}
