#include "codec/archive/tar.h"

#include "tests/tap.h"

static int add(struct tar *t, enum tar_type type, const char *name)
{
	struct tar_entry e = {
		.type = type,
		.mode = 0755,
		.name = name,
		.target = type == TAR_LINK ? "t" : NULL,
	};

	return tar_write_header(t, &e);
}

static void test_bytes(void)
{
	struct buf out = BUF_INIT(1 << 16);
	struct tar t;
	struct tar_entry file = {
		.type = TAR_FILE, .mode = 0555, .name = "d/f", .size = 5};

	tar_init(&t, &out);
	is_int(add(&t, TAR_DIR, "d/"), 0, "directory");
	is_int(tar_write_header(&t, &file), 0, "file");
	buf_puts(&out, "hello");
	tar_pad(&t);
	is_int(add(&t, TAR_LINK, "l"), 0, "link");
	tar_end(&t);
	is_int(out.err, 0, "no error");
	is_int(out.n, 6 * TAR_BLOCK, "three headers, one content block, two of the end");
	is_str(out.p, "d/", "name of the directory");
	is_str(out.p + 100, "0000755", "mode");
	is_str(out.p + 124, "00000000000", "size of a directory");
	is_str(out.p + 148, "006170", "checksum, as Python's tarfile has it");
	is_int(out.p[156], '5', "type of the directory");
	is_mem(out.p + 257, 8, "ustar\00000", 8, "magic and version");
	is_str(out.p + 512 + 124, "00000000005", "size of the file");
	is_str(out.p + 512 + 100, "0000555", "mode of the file");
	is_mem(out.p + 1024, 6, "hello", 6, "content is padded with zeros");
	is_int(out.p[1536 + 156], '2', "type of the link");
	is_str(out.p + 1536 + 157, "t", "target of the link");
	is_int(out.p[6 * TAR_BLOCK - 1], 0, "ends with zeros");
	buf_free(&out);
}

static void test_sizes(void)
{
	struct buf out = BUF_INIT(1 << 16);
	struct tar t;
	struct tar_entry e = {.type = TAR_FILE, .mode = 0, .name = "a", .size = 512};

	tar_init(&t, &out);
	is_int(tar_write_header(&t, &e), 0, "a full block");
	tar_pad(&t);
	is_int(out.n, 512, "needs no padding");
	e.name = "b";
	e.size = 077777777777;
	is_int(tar_write_header(&t, &e), 0, "the largest size");
	is_str(out.p + 512 + 124, "77777777777", "fills its field");
	tar_pad(&t);
	e.name = "c";
	e.size++;
	is_int(tar_write_header(&t, &e), ERR_LIMIT, "one more is refused");
	buf_free(&out);
}

static void test_names(void)
{
	static const struct {
		const char *name;
		enum tar_type type;
		int want;
	} rows[] = {
		{"", TAR_FILE, ERR_SYNTAX},
		{"/", TAR_DIR, ERR_SYNTAX},
		{"/a", TAR_FILE, ERR_SYNTAX},
		{"a//b", TAR_FILE, ERR_SYNTAX},
		{"a/../b", TAR_FILE, ERR_SYNTAX},
		{"..", TAR_FILE, ERR_SYNTAX},
		{".", TAR_FILE, ERR_SYNTAX},
		{"./", TAR_DIR, ERR_SYNTAX},
		{"a", TAR_DIR, ERR_SYNTAX},
		{"a/", TAR_FILE, ERR_SYNTAX},
		{"a/", TAR_LINK, ERR_SYNTAX},
		{"a//", TAR_DIR, ERR_SYNTAX},
		{"...", TAR_FILE, 0},
		{"a/.b/..c", TAR_FILE, 0},
		{"a/", TAR_DIR, 0},
	};
	struct buf out = BUF_INIT(1 << 16);
	struct tar t;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_reset(&out);
		tar_init(&t, &out);
		is_int(add(&t, rows[i].type, rows[i].name), rows[i].want, "name '%s'",
			rows[i].name);
		is_int(out.n, rows[i].want ? 0 : TAR_BLOCK, "and what it wrote");
	}
	buf_free(&out);
}

static void test_lengths(void)
{
	struct buf out = BUF_INIT(1 << 16);
	char name[102];
	struct tar t;
	struct tar_entry e = {.type = TAR_LINK, .name = "z", .target = name};

	tar_init(&t, &out);
	memset(name, 'n', 101);
	name[101] = '\0';
	is_int(add(&t, TAR_FILE, name), ERR_LIMIT, "101 bytes of name");
	is_int(tar_write_header(&t, &e), ERR_LIMIT, "101 bytes of target");
	name[100] = '\0';
	is_int(add(&t, TAR_FILE, name), 0, "100 bytes of name");
	is_mem(out.p, 100, name, 100, "stand whole");
	is_int(tar_write_header(&t, &e), 0, "100 bytes of target");
	buf_free(&out);
}

static void test_misuse(void)
{
	struct buf out = BUF_INIT(TAR_BLOCK);
	struct tar t;
	struct tar_entry e = {.type = TAR_FILE, .mode = 010000, .name = "a"};

	tar_init(&t, &out);
	is_int(tar_write_header(&t, &e), ERR_SYNTAX, "more than permission bits");
	e.mode = 0;
	e.target = "x";
	is_int(tar_write_header(&t, &e), ERR_SYNTAX, "a file has no target");
	e.type = TAR_LINK;
	e.target = NULL;
	is_int(tar_write_header(&t, &e), ERR_SYNTAX, "a link has one");
	e = (struct tar_entry){.type = TAR_DIR, .name = "a/", .size = 1};
	is_int(tar_write_header(&t, &e), ERR_SYNTAX, "a directory has no content");
	is_int(add(&t, TAR_FILE, "b"), 0, "first");
	is_int(add(&t, TAR_FILE, "b"), ERR_RANGE, "the same name again");
	is_int(add(&t, TAR_FILE, "a"), ERR_RANGE, "a name out of order");
	is_int(add(&t, TAR_FILE, "c"), ERR_LIMIT, "the buf is full");
	is_int(out.n, TAR_BLOCK, "and holds whole headers only");
	buf_free(&out);
}

int main(void)
{
	test_bytes();
	test_sizes();
	test_names();
	test_lengths();
	test_misuse();
	return done_testing();
}
