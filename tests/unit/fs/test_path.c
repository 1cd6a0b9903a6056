#include "base/fd.h"
#include "fs/mime.h"
#include "fs/path.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct row {
	const char *cwd;
	const char *sent;
	const char *abs;
};

static const struct row rows[] = {
	{"/ws", "a.txt", "/ws/a.txt"},
	{"/ws/", "a.txt", "/ws/a.txt"},
	{"/ws", "/etc/passwd", "/etc/passwd"},
	{"/ws", "./a//b/./c/", "/ws/a/b/c"},
	{"/ws", "../x", "/ws/../x"},
	{"/ws", "", "/ws"},
	{"/ws", ".", "/ws"},
	{"/ws", "/", "/"},
	{"/ws", "//", "/"},
	{"/", "a", "/a"},
	{"", "a", "/a"},
	{"relative", "a", "/a"},
	{"/ws", "~/a", "/ws/~/a"},
	{"/with blank", "a b\nc", "/with blank/a b\nc"},
};

static void check_make(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf why = BUF_INIT(FILE_WORDS_MAX);
		struct file_path p = {.n = 0};
		const struct row *r = &rows[i];

		is_int(file_path_make(&p, str_c(r->cwd), str_c(r->sent), &why), 0,
			"row %zu", i);
		is_str(p.abs, r->abs, "path of row %zu", i);
		is_int(p.n, strlen(r->abs), "length of row %zu", i);
		buf_free(&why);
	}
}

static void check_refused(void)
{
	static char name[FILE_PATH_MAX];
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	struct file_path p = {.abs = "untouched", .n = 9};

	is_int(file_path_make(&p, STR("/"), str_make("a\0b", 3), &why), -EINVAL,
		"a NUL byte");
	is_view(buf_view(&why), "Path holds a NUL byte. No file can have such a name",
		"its words");
	buf_reset(&why);
	memset(name, 'x', sizeof(name));
	is_int(file_path_make(&p, STR("/"), str_make(name, FILE_PATH_MAX - 1), &why),
		-ENAMETOOLONG, "a byte too long");
	is_view(buf_view(&why), "Path is too long: it has more than 4095 bytes",
		"its words");
	is_str(p.abs, "untouched", "nothing is made of a refused path");
	is_int(file_path_make(&p, STR("/ws"), str_make(name, FILE_PATH_MAX - 4), &why),
		-ENAMETOOLONG, "too long together with the folder");
	is_int(file_path_make(&p, STR("/"), str_make(name, FILE_PATH_MAX - 2), &why), 0,
		"as long as possible");
	is_int(p.n, FILE_PATH_MAX - 1, "all of it");
	buf_free(&why);
}

static const struct row names[] = {
	{"a.png", "a.png", "png"},
	{"/x.d/a", "a", ""},
	{"a.tar.gz", "a.tar.gz", "gz"},
	{".bashrc", ".bashrc", ""},
	{".x.PNG", ".x.PNG", "PNG"},
	{"a.", "a.", ""},
	{"/", "", ""},
};

static void check_names(void)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct buf why = BUF_INIT(FILE_WORDS_MAX);
		struct file_path p;

		if (file_path_make(&p, STR("/ws"), str_c(names[i].cwd), &why))
			continue;
		is_view(file_path_base(&p), names[i].sent, "base of %s", p.abs);
		is_view(file_path_ext(&p), names[i].abs, "extension of %s", p.abs);
	}
}

static void check_mime(void)
{
	is_str(mime_find_type(STR("png")), "image/png", "png");
	is_str(mime_find_type(STR("JPG")), "image/jpeg", "case does not matter");
	is_str(mime_find_type(STR("jpeg")), "image/jpeg", "jpeg");
	is_str(mime_find_type(STR("bmp")), "image/bmp", "bmp");
	is_str(mime_find_type(STR("gif")), "image/gif", "gif");
	is_str(mime_find_type(STR("pdf")), "application/pdf", "pdf");
	is_str(mime_find_type(STR("mp4")), "video/mp4", "mp4");
	is_str(mime_find_type(STR("webm")), "video/webm", "webm");
	is_str(mime_find_type(STR("ogg")), "audio/ogg", "ogg");
	ok(!mime_find_type(STR("txt")), "text has none");
	ok(!mime_find_type(STR("")), "no extension has none");
	ok(!mime_find_type(STR("pn")), "a part of a name has none");
}

/* What open_dir finds for a path below the folder top. */
static int find(const char *top, const char *name, char found[FILE_PATH_MAX])
{
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	char base[FILE_PATH_MAX];
	struct stat st, of_top;
	struct file_path p;
	int dir = -1;
	int r = file_path_make(&p, str_c(top), str_c(name), &why);

	buf_free(&why);
	if (!r)
		r = file_path_open_dir(&p, &dir, base);
	if (r)
		return r;
	ok(fcntl(dir, F_GETFD) & FD_CLOEXEC, "the folder of %s closes on exec", name);
	if (fstat(dir, &st) || stat(top, &of_top))
		r = -errno;
	else
		snprintf(found, FILE_PATH_MAX, "%s%.200s",
			st.st_ino == of_top.st_ino ? "" : "other/", base);
	fd_close(&dir);
	return r;
}

static void check_links(void)
{
	static const char *const made[] = {
		"d/inner", "one", "two", "away", "abs", "loop", "slash", "lost"};
	char top[] = "/tmp/od-path-XXXXXX";
	char found[FILE_PATH_MAX] = "";
	int dir;

	if (!mkdtemp(top)) {
		skip("links", "no folder in /tmp");
		return;
	}
	dir = fd_open(top, O_RDONLY | O_DIRECTORY, 0);
	ok(dir >= 0 && mkdirat(dir, "d", 0755) == 0 &&
			symlinkat("real", dir, "one") == 0 &&
			symlinkat("one", dir, "two") == 0 &&
			symlinkat("d/inner", dir, "away") == 0 &&
			symlinkat("../back", dir, "d/inner") == 0 &&
			symlinkat("/etc/hostname", dir, "abs") == 0 &&
			symlinkat("loop", dir, "loop") == 0 &&
			symlinkat("d/", dir, "slash") == 0 &&
			symlinkat("gone/x", dir, "lost") == 0,
		"a folder with links");
	is_int(find(top, "plain", found), 0, "a name that is not there");
	is_str(found, "plain", "stays");
	is_int(find(top, "two", found), 0, "links in a row");
	is_str(found, "real", "lead to the last");
	is_int(find(top, "away", found), 0, "links through another folder");
	is_str(found, "back", "are relative to where they stand");
	is_int(find(top, "abs", found), 0, "an absolute link");
	is_str(found, "other/hostname", "is followed");
	is_int(find(top, "loop", found), -ELOOP, "a link to itself");
	is_int(find(top, "slash", found), -EISDIR, "a link that ends in a slash");
	is_int(find(top, "..", found), -EISDIR, "a folder's other name");
	is_int(find(top, "lost", found), -ENOENT, "a link into nowhere");
	is_int(find("/", "/", found), -EISDIR, "the root");
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		unlinkat(dir, made[i], 0);
	unlinkat(dir, "d", AT_REMOVEDIR);
	fd_close(&dir);
	is_int(rmdir(top), 0, "nothing is left");
}

int main(void)
{
	check_make();
	check_refused();
	check_names();
	check_mime();
	check_links();
	return done_testing();
}
