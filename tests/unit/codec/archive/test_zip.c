/* The zip writer, judged by Python's reader where there is one. */
#include "codec/archive/zip.h"

#include "base/fd.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/od-zip-XXXXXX";

/* Runs Python's words on the archive; what they print is compared. */
static void judge(struct buf *zip, const char *words, const char *want, const char *name)
{
	char path[64], command[2048], got[8192] = "";
	size_t n = 0;
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "%s/a.zip", folder);
	fd = fd_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || fd_write_all(fd, zip->p, zip->n) < 0)
		ok(false, "the archive is written");
	fd_close(&fd);
	snprintf(command, sizeof(command),
		"python3 -c 'import zipfile; z=zipfile.ZipFile(\"%s\"); "
		"assert z.testzip() is None; %s' 2>&1",
		path, words);
	f = popen(command, "r");
	if (f) {
		n = fread(got, 1, sizeof(got) - 1, f);
		got[n] = '\0';
		pclose(f);
	}
	unlink(path);
	is_str(got, want, "%s", name);
}

static void finish(struct zip *z, struct str comment)
{
	int r;

	while ((r = zip_finish(z, comment)) == 1)
		;
	is_int(r, 0, "the archive is complete");
	is_int(z->out->err, 0, "without an error");
}

static void test_entries(void)
{
	struct buf out = BUF_INIT(1 << 24);
	struct zip z;
	struct zip_entry e = {STR("a/b.txt"), S_IFREG | 0640, 1700000000};
	struct zip_entry dir = {STR("a/"), S_IFDIR | 0755, 1700000000};
	struct zip_entry link = {STR("l"), S_IFLNK | 0777, 1700000000};
	struct zip_entry odd = {STR("n\nl \xc3\xa4"), S_IFREG | 0755, -5};
	struct zip_entry raw = {STR("\xff\xfe"), S_IFREG | 0600, (int64_t)1 << 40};
	int r;

	zip_init(&z, &out);
	r = zip_put(&z, &dir, STR(""));
	if (!r)
		r = zip_put(&z, &e, STR("hello"));
	if (!r)
		r = zip_put(&z, &link, STR("a/b.txt"));
	if (!r)
		r = zip_open(&z, &odd, 1000000, 0);
	for (int i = 0; i < 1000 && !r; i++)
		r = zip_add_data(&z, STR("0123456789"));
	if (!r)
		r = zip_close(&z);
	if (!r)
		r = zip_open(&z, &raw, 1000000, 1);
	for (int i = 0; i < 1000 && !r; i++)
		r = zip_add_data(&z, STR("0123456789"));
	if (!r)
		r = zip_close(&z);
	is_int(r, 0, "five entries");
	finish(&z, STR("some words"));
	judge(&out,
		"print([(i.filename, oct(i.external_attr >> 16), i.file_size, "
		"i.compress_type, i.date_time[0]) for i in z.infolist()], z.comment)",
		"[('a/', '0o40755', 0, 0, 2023), ('a/b.txt', '0o100640', 5, 0, 2023), "
		"('l', '0o120777', 7, 0, 2023), ('n\\nl \xc3\xa4', '0o100755', 10000, 8, "
		"1980), ('\\xa0\xe2\x96\xa0', '0o100600', 10000, 8, 2107)] b'some "
		"words'\n",
		"names, modes, sizes, methods, years");
	judge(&out,
		"print(z.read(\"a/b.txt\"), z.read(\"l\"), "
		"z.read(z.namelist()[3])==z.read(z.namelist()[4])==b\"0123456789\"*1000)",
		"b'hello' b'a/b.txt' True\n", "contents");
	zip_free(&z);
	buf_free(&out);
}

static void test_empty(void)
{
	struct buf out = BUF_INIT(1 << 16);
	struct zip z;

	zip_init(&z, &out);
	finish(&z, STR(""));
	is_int(out.n, 22, "an empty archive has 22 bytes");
	judge(&out, "print(z.namelist())", "[]\n", "and is one");
	zip_free(&z);
	buf_free(&out);
}

static void test_refused(void)
{
	static const struct zip_entry bad[] = {
		{{"", 0}, S_IFREG | 0644, 0},
		{{"/a", 2}, S_IFREG | 0644, 0},
		{{"a/", 2}, S_IFREG | 0644, 0},
		{{"a", 1}, S_IFDIR | 0644, 0},
	};
	static char name[65536];
	struct zip_entry e = {STR("f"), S_IFREG | 0644, 0};
	struct zip_entry dir = {STR("d/"), S_IFDIR | 0644, 0};
	struct buf out = BUF_INIT(1 << 20);
	struct buf small = BUF_INIT(20);
	struct zip z;

	zip_init(&z, &out);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		is_int(zip_put(&z, &bad[i], STR("")), ERR_SYNTAX, "name %zu", i);
	memset(name, 'x', sizeof(name));
	e.name = str_make(name, sizeof(name));
	is_int(zip_put(&z, &e, STR("")), ERR_SYNTAX, "too long a name");
	e.name.n--;
	is_int(zip_put(&z, &e, STR("")), 0, "the longest one");
	is_int(zip_put(&z, &dir, STR("x")), ERR_SYNTAX, "content of a folder");
	is_int(zip_open(&z, &dir, 1, 0), ERR_SYNTAX, "the same in pieces");
	e.name = STR("f");
	is_int(zip_open(&z, &e, 3, 0), 0, "at most three bytes");
	is_int(zip_add_data(&z, STR("ab")), 0, "two");
	is_int(zip_add_data(&z, STR("cd")), ERR_RANGE, "are not four");
	is_int(zip_add_data(&z, STR("c")), 0, "but three");
	is_int(zip_close(&z), 0, "closed");
	finish(&z, STR(""));
	judge(&out, "print(z.read(\"f\"), len(z.namelist()[0]))", "b'abc' 65535\n",
		"what was taken is there");
	zip_free(&z);
	zip_init(&z, &small);
	is_int(zip_put(&z, &e, STR("")), ERR_LIMIT, "no room");
	zip_free(&z);
	buf_free(&out);
	buf_free(&small);
}

/* More entries than 16 bits count, the directory in many pieces. */
static void test_many(void)
{
	enum { MANY = 100000 };
	struct buf out = BUF_INIT(64 << 20);
	struct zip z;
	bool good = true;
	size_t memory;

	zip_init(&z, &out);
	for (unsigned i = 0; i < MANY && good; i++) {
		char name[64], text[16];
		struct zip_entry e = {.mode = S_IFREG | 0644, .mtime = 1700000000 + i};

		e.name = str_make(name,
			(size_t)snprintf(
				name, sizeof(name), "dir%u/file-%u.txt", i / 1000, i));
		good = zip_put(&z, &e,
			       str_make(text,
				       (size_t)snprintf(text, sizeof(text), "%u", i))) ==
			0;
	}
	memory = z.index.memory;
	ok(good, "many entries");
	ok(memory < MANY * 9, "need little memory (%zu bytes)", memory);
	finish(&z, STR(""));
	judge(&out,
		"print(len(z.namelist()), all(z.read(i).decode() in i.filename for i in "
		"z.infolist()))",
		"100000 True\n", "all are there");
	zip_free(&z);
	buf_free(&out);
}

/* Content at level 0, in blocks that the caller sends. */
static void test_blocks(void)
{
	static char content[200000];
	const size_t first = 3, second = ZIP_BLOCK_MAX;
	struct buf out = BUF_INIT(1 << 20);
	struct zip_entry e = {STR("f"), S_IFREG | 0644, 0};
	struct zip_entry next = {STR("g"), S_IFREG | 0644, 0};
	char head[ZIP_BLOCK_HEAD];
	struct zip z;
	size_t at = 0;
	int r;

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (char)('a' + i % 23);
	zip_init(&z, &out);
	r = zip_open(&z, &e, sizeof(content), 0);
	for (size_t n = first; n && !r; n = n == first ? second : 0) {
		r = zip_add_block(&z, str_make(content + at, n), head);
		buf_put(&out, head, sizeof(head));
		buf_put(&out, content + at, n);
		at += n;
	}
	is_int(r, 0, "two blocks");
	is_int(zip_add_data(&z, str_make(content + at, sizeof(content) - at)), 0,
		"the rest");
	is_int(zip_add_block(&z, STR("x"), head), ERR_RANGE, "and no more");
	is_int(zip_close(&z), 0, "closed");
	r = zip_open(&z, &next, 5, 1);
	if (!r)
		r = zip_add_data(&z, STR("hello"));
	if (!r)
		r = zip_close(&z);
	is_int(r, 0, "another that is packed");
	finish(&z, STR(""));
	judge(&out,
		"print(z.read(\"f\")==bytes(97+i%23 for i in range(200000)), "
		"z.read(\"g\"), "
		"[i.compress_size-i.file_size for i in z.infolist()][:1])",
		"True b'hello' [30]\n", "each as it was, five more bytes for each block");
	zip_free(&z);
	buf_free(&out);
}

/* Five gigabytes of zeros pass by; only sums and headers are kept. */
static void test_zip64(void)
{
	enum { PIECE = 1 << 20 };
	static char zeros[PIECE];
	struct buf out = BUF_INIT(8 << 20);
	struct zip z;
	struct zip_entry big = {STR("big"), S_IFREG | 0644, 0};
	struct zip_entry small = {STR("small"), S_IFREG | 0644, 0};
	uint64_t size = ((uint64_t)4 << 30) + 5;
	char path[64];
	int r, fd;

	snprintf(path, sizeof(path), "%s/big.zip", folder);
	fd = fd_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	zip_init(&z, &out);
	r = zip_open(&z, &big, size, 1);
	for (uint64_t at = 0; at < size && !r; at += PIECE) {
		r = zip_add_data(&z,
			str_make(zeros, size - at < PIECE ? (size_t)(size - at) : PIECE));
		if (!r)
			r = fd_write_all(fd, out.p, out.n);
		buf_reset(&out);
	}
	if (!r)
		r = zip_close(&z);
	if (!r)
		r = zip_put(&z, &small, STR("x"));
	is_int(r, 0, "a file of more than 4 GiB");
	finish(&z, STR(""));
	ok(fd_write_all(fd, out.p, out.n) == 0, "written");
	fd_close(&fd);
	buf_reset(&out);
	/* The small archive of judge is not used: it opens ours. */
	zip_free(&z);
	zip_init(&z, &out);
	finish(&z, STR(""));
	judge(&out,
		"import os; z=zipfile.ZipFile(os.path.dirname(z.filename)+\"/big.zip\"); "
		"print([(i.filename, i.file_size, i.create_version) for i in "
		"z.infolist()], z.read(\"small\"))",
		"[('big', 4294967301, 45), ('small', 1, 45)] b'x'\n", "with its size");
	unlink(path);
	zip_free(&z);
	buf_free(&out);
}

int main(void)
{
	if (system("python3 -c 'import zipfile'") || !mkdtemp(folder)) {
		skip("zip", "there is no Python");
		return done_testing();
	}
	test_entries();
	test_empty();
	test_refused();
	test_many();
	test_blocks();
#ifndef __SANITIZE_ADDRESS__
	test_zip64();
#else
	(void)test_zip64;
	skip("zip64", "it takes too long with sanitizers");
#endif
	rmdir(folder);
	return done_testing();
}
