/* The tar reader, fed by the two writers and by headers made by hand. */
#include "codec/archive/untar.h"

#include "codec/archive/pax.h"
#include "codec/archive/tar.h"
#include "tests/tap.h"

#include <sys/stat.h>

static int feed(struct untar *u, struct str in, struct buf *out)
{
	int r;

	do {
		struct str piece;

		r = untar_next(u, &in, &piece);
		if (r == UNTAR_ENTRY)
			buf_fmt(out, "[%d %.*s>%.*s %o %lld %llu]", (int)u->entry.type,
				STR_ARG(u->entry.name), STR_ARG(u->entry.target),
				u->entry.mode, (long long)u->entry.mtime,
				(unsigned long long)u->entry.size);
		else if (r == UNTAR_DATA)
			buf_str(out, piece);
		else if (r == UNTAR_END)
			buf_puts(out, ".");
		else if (r == UNTAR_DONE)
			buf_puts(out, "!");
	} while (r > 0 && r != UNTAR_DONE);
	return r;
}

/* The events of in, which do not depend on where it is cut. */
static void check(const struct buf *in, const char *want, int verdict, const char *name)
{
	struct str all = buf_view(in);
	bool good = true;

	for (size_t cut = 0; cut <= all.n + 1 && good; cut++) {
		struct buf out = BUF_INIT(1 << 20);
		struct untar u;
		int r = 0;

		untar_init(&u);
		if (cut == all.n + 1) {
			for (size_t i = 0; i < all.n && r == UNTAR_MORE; i++)
				r = feed(&u, str_make(all.p + i, 1), &out);
		} else {
			r = feed(&u, str_make(all.p, cut), &out);
			if (r == UNTAR_MORE)
				r = feed(&u, str_skip(all, cut), &out);
		}
		good = r == verdict && str_eq(buf_view(&out), str_c(want)) &&
			(r >= 0) == !u.reason;
		if (!good) {
			is_int(r, verdict, "verdict, cut at %zu", cut);
			is_view(buf_view(&out), want, "events");
		}
		untar_free(&u);
		buf_free(&out);
	}
	all = str_trim(str_c(name), "\n");
	ok(good, "%.*s, at every split", STR_ARG(all));
}

static void put_file(struct buf *out, const struct pax_entry *e, struct str content)
{
	if (pax_write_header(out, e))
		ok(false, "a header is written");
	buf_str(out, content);
	pax_pad(out, content.n);
}

static void test_pax(void)
{
	struct buf in = BUF_INIT(1 << 20);
	static char name[201], words[1024];
	struct pax_entry file = {
		.name = STR("d/f"), .mode = S_IFREG | 0640, .mtime = 5, .size = 5};
	struct pax_entry dir = {.name = STR("d"), .mode = S_IFDIR | 0755, .mtime = -5};
	struct pax_entry link = {
		.name = STR("l\n"), .mode = S_IFLNK | 0777, .target = STR("d/f")};
	struct pax_entry hard = {.name = STR("h"),
		.mode = S_IFREG | 0640,
		.hard = true,
		.target = STR("d/f")};
	struct pax_entry longer = {.mode = S_IFREG | 0600, .uid = UINT32_MAX};
	struct pax_entry pipe = {.name = STR("p"), .mode = S_IFIFO | 0600};

	memset(name, 'n', 200);
	longer.name = str_c(name);
	longer.comment = STR("words");
	put_file(&in, &dir, STR(""));
	put_file(&in, &file, STR("hello"));
	put_file(&in, &link, STR(""));
	put_file(&in, &hard, STR(""));
	put_file(&in, &longer, STR(""));
	is_int(pax_write_header(&in, &pipe), ERR_TYPE, "no pipes");
	pax_end(&in);
	snprintf(words, sizeof(words),
		"[1 d> 755 -5 0][0 d/f> 640 5 5]hello.[2 l\n>d/f 777 0 0]"
		"[3 h>d/f 640 0 0][0 %s> 600 0 0].!",
		name);
	check(&in, words, UNTAR_DONE, "all that pax writes");
	in.n -= 512;
	words[strlen(words) - 1] = '\0';
	check(&in, words, UNTAR_MORE, "without its end");
	buf_free(&in);
}

static void test_ustar(void)
{
	struct buf in = BUF_INIT(1 << 16);
	struct tar_entry e = {.type = TAR_FILE, .mode = 0644, .name = "a/b", .size = 3};
	struct tar t;

	tar_init(&t, &in);
	ok(tar_write_header(&t, &e) == 0, "a file");
	buf_puts(&in, "abc");
	tar_pad(&t);
	tar_end(&t);
	check(&in, "[0 a/b> 644 0 3]abc.!", UNTAR_DONE, "ustar");
	buf_reset(&in);
	buf_free(&in);
}

/* A header with its sum. */
static void put_raw(struct buf *out, char type, const char *name, const char *size)
{
	char h[512] = "";
	unsigned sum = 8 * ' ';

	snprintf(h, 100, "%s", name);
	memcpy(h + 100, "0000644", 8);
	if (size)
		snprintf(h + 124, 12, "%s", size);
	h[156] = type;
	memcpy(h + 257, "ustar", 6);
	if (!size)
		memcpy(h + 124, "\x80\0\0\0\0\0\0\0\0\0\0\x03", 12);
	for (int i = 0; i < 512; i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
	h[155] = ' ';
	buf_put(out, h, 512);
}

static void put_padded(struct buf *out, struct str s)
{
	buf_str(out, s);
	pax_pad(out, s.n);
}

static void check_raw(char type, const char *meta, const char *want, int r)
{
	struct buf in = BUF_INIT(1 << 16);
	char size[16];

	snprintf(size, sizeof(size), "%o", (unsigned)strlen(meta));
	put_raw(&in, type, "meta", size);
	put_padded(&in, str_c(meta));
	put_raw(&in, '0', "n", "3");
	put_padded(&in, STR("abc"));
	pax_end(&in);
	check(&in, want, r, meta);
	buf_free(&in);
}

static void test_headers(void)
{
	struct buf in = BUF_INIT(1 << 16);

	check_raw('L', "long/name", "[0 long/name> 644 0 3]abc.!", UNTAR_DONE);
	check_raw('K', "target", "[0 n>target 644 0 3]abc.!", UNTAR_DONE);
	check_raw('x', "10 path=x\n", "[0 x> 644 0 3]abc.!", UNTAR_DONE);
	check_raw('x', "13 mtime=-5.5\n", "", ERR_SYNTAX);
	check_raw('x', "14 mtime=-5.5\n", "[0 n> 644 -5 3]abc.!", UNTAR_DONE);
	check_raw('x', "10 size=2\n", "[0 n> 644 0 2]ab.!", UNTAR_DONE);
	check_raw('x', "11 size=x2\n", "", ERR_SYNTAX);
	check_raw('x', "5 a=\n6 b=c\n", "[0 n> 644 0 3]abc.!", UNTAR_DONE);
	check_raw('x', "8 path=x\n", "", ERR_SYNTAX);
	check_raw('x', "99 path=x\n", "", ERR_SYNTAX);
	check_raw('x', "10 pathxx\n", "", ERR_SYNTAX);
	check_raw('x', "path", "", ERR_SYNTAX);
	check_raw('x', "22 GNU.sparse.major=1\n", "", ERR_SYNTAX);
	check_raw('g', "10 path=x\n", "[0 n> 644 0 3]abc.!", UNTAR_DONE);
	check_raw('S', "", "", ERR_SYNTAX);
	check_raw('3', "", "", ERR_SYNTAX);
	put_raw(&in, '0', "n", NULL);
	put_padded(&in, STR("abc"));
	pax_end(&in);
	check(&in, "[0 n> 644 0 3]abc.!", UNTAR_DONE, "a size in bytes");
	buf_reset(&in);
	put_raw(&in, '\0', "d/", "0");
	pax_end(&in);
	check(&in, "[1 d/> 644 0 0]!", UNTAR_DONE, "a folder of old");
	buf_reset(&in);
	put_raw(&in, '0', "n", "9");
	check(&in, "", ERR_SYNTAX, "a size that is no number");
	buf_reset(&in);
	put_raw(&in, 'x', "n", "200001");
	check(&in, "", ERR_LIMIT, "too large a header");
	buf_free(&in);
}

/* Contents are left out of the input, and the next header is found. */
static void test_pass(void)
{
	struct buf in = BUF_INIT(1 << 16);
	struct str rest, piece;
	struct untar u;

	put_raw(&in, '0', "a", "1001");
	buf_commit(&in, buf_reserve(&in, 1024) ? 1024 : 0);
	put_raw(&in, '5', "d/", "0");
	put_raw(&in, '0', "b", "3");
	put_padded(&in, STR("abc"));
	pax_end(&in);
	rest = buf_view(&in);
	untar_init(&u);
	is_int(untar_next(&u, &rest, &piece), UNTAR_ENTRY, "a file");
	is_int(untar_skip_content(&u), 1024, "513 bytes are two blocks");
	rest = str_skip(rest, 1024);
	is_int(untar_next(&u, &rest, &piece), UNTAR_ENTRY, "a folder");
	is_int(untar_skip_content(&u), 0, "has no content");
	is_int(untar_next(&u, &rest, &piece), UNTAR_ENTRY, "another file");
	is_view(u.entry.name, "b", "the right one");
	is_int(untar_next(&u, &rest, &piece), UNTAR_DATA, "whose content is read");
	is_view(piece, "abc", "all of it");
	is_int(untar_next(&u, &rest, &piece), UNTAR_END, "to its end");
	is_int(untar_next(&u, &rest, &piece), UNTAR_DONE, "and that of the archive");
	untar_free(&u);
	buf_free(&in);
}

int main(void)
{
	test_pass();
	test_pax();
	test_ustar();
	test_headers();
	return done_testing();
}
