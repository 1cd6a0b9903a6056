/* Pictures: read in all forms that browsers make, refused when broken, and written. */
#include "codec/png.h"

#include "tests/tap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

enum { WIDTH = 7, HEIGHT = 11, FILTERS = 5, ROW_MAX = 1 + WIDTH * 4 };

static struct buf file = BUF_INIT(1 << 20), packed = BUF_INIT(1 << 20);

/* --- Making them ------------------------------------------------------------------ */

static void put32(struct buf *out, size_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_putc(out, (char)(v >> shift));
}

static void put_chunk(const char *type, const void *p, size_t n)
{
	size_t at = file.n + 4;

	put32(&file, n);
	buf_put(&file, type, 4);
	buf_put(&file, p, n);
	put32(&file, crc32(0, (const Bytef *)file.p + at, (uInt)(file.n - at)));
}

static void put_header(uint32_t width, uint32_t height, const char kind[5])
{
	struct buf head = BUF_INIT(100);

	buf_reset(&file);
	buf_puts(&file, "\x89PNG\r\n\x1a\n");
	put32(&head, width);
	put32(&head, height);
	buf_put(&head, kind, 5);
	put_chunk("IHDR", head.p, head.n);
	buf_free(&head);
}

/* A byte of the picture: something that is neither flat nor a gradient. */
static uint8_t sample(size_t x, size_t y, size_t i)
{
	return (uint8_t)(x * x * 17 + y * 43 + i * 101 + (x ^ y));
}

static uint8_t predict(int filter, int a, int b, int c)
{
	int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);

	switch (filter) {
	case 1:
		return (uint8_t)a;
	case 2:
		return (uint8_t)b;
	case 3:
		return (uint8_t)((a + b) / 2);
	case 4:
		return (uint8_t)(pa <= pb && pa <= pc ? a : pb <= pc ? b : c);
	default:
		return 0;
	}
}

/* Rows with the filters in turn, the first one first; packed. */
static void make_rows(size_t depth, size_t rows, int first)
{
	uint8_t raw[ROW_MAX * (HEIGHT + 1)];
	uLongf n = 100000;
	size_t at = 0;
	char *room;

	for (size_t y = 0; y < rows; y++) {
		int filter = (int)((size_t)first + y) % FILTERS;

		raw[at++] = (uint8_t)filter;
		for (size_t k = 0; k < WIDTH * depth; k++) {
			size_t x = k / depth, i = k % depth;
			uint8_t a = x ? sample(x - 1, y, i) : 0;
			uint8_t b = y ? sample(x, y - 1, i) : 0;
			uint8_t c = x && y ? sample(x - 1, y - 1, i) : 0;

			raw[at++] = (uint8_t)(sample(x, y, i) - predict(filter, a, b, c));
		}
	}
	buf_reset(&packed);
	room = buf_reserve(&packed, n);
	assert(room && compress((Bytef *)room, &n, raw, at) == Z_OK);
	buf_commit(&packed, n);
}

/* The packed rows in pieces of that size, and the end. */
static void put_rows(size_t piece)
{
	for (size_t at = 0; at < packed.n; at += piece)
		put_chunk("IDAT", packed.p + at,
			packed.n - at < piece ? packed.n - at : piece);
	put_chunk("IEND", NULL, 0);
}

static const char rgb[5] = {8, 2, 0, 0, 0}, rgba[5] = {8, 6, 0, 0, 0};

static void make(size_t depth, int first, size_t piece)
{
	make_rows(depth, HEIGHT, first);
	put_header(WIDTH, HEIGHT, depth == 4 ? rgba : rgb);
	put_rows(piece);
}

/* --- Reading ---------------------------------------------------------------------- */

/* From memory of that size, for reads too far. */
static int decode(struct str text, struct png *p)
{
	char *copy = malloc(text.n ? text.n : 1);
	int r;

	assert(copy);
	if (text.n)
		memcpy(copy, text.p, text.n);
	r = png_decode(p, str_make(copy, text.n));
	free(copy);
	return r;
}

static bool is_sample(const struct png *p)
{
	if (p->width != WIDTH || p->height != HEIGHT ||
		p->pixels.n != WIDTH * HEIGHT * PNG_PIXEL)
		return false;
	for (size_t k = 0; k < p->pixels.n; k++) {
		size_t x = k / PNG_PIXEL % WIDTH, y = k / PNG_PIXEL / WIDTH;

		if ((uint8_t)p->pixels.p[k] != sample(x, y, k % PNG_PIXEL))
			return false;
	}
	return true;
}

static void test_forms(void)
{
	struct png p;

	for (size_t depth = 3; depth <= 4; depth++) {
		for (int first = 0; first < FILTERS; first++) {
			make(depth, first, SIZE_MAX / 2);
			if (!ok(!decode(buf_view(&file), &p), "%zu bytes, filter %d",
				    depth, first))
				continue;
			ok(is_sample(&p), "is what it was");
			png_free(&p);
		}
	}
	make(3, 0, 1);
	ok(!decode(buf_view(&file), &p) && is_sample(&p), "packed bytes one by one");
	png_free(&p);
	make_rows(3, HEIGHT, 0);
	put_header(WIDTH, HEIGHT, rgb);
	put_chunk("IDAT", NULL, 0);
	put_chunk("sBIT", "x", 1);
	put_rows(50);
	ok(!decode(buf_view(&file), &p) && is_sample(&p),
		"what is not critical is skipped");
	png_free(&p);
}

static void refuses(int want, const char *name)
{
	struct png p;
	int r = decode(buf_view(&file), &p);

	is_int(r, want, "%s", name);
	if (!r)
		png_free(&p);
}

static void test_kinds(void)
{
	static const struct {
		uint32_t width, height;
		const char kind[5];
		int want;
		const char *name;
	} cases[] = {
		{WIDTH, HEIGHT, {8, 0, 0, 0, 0}, ERR_TYPE, "grey"},
		{WIDTH, HEIGHT, {8, 3, 0, 0, 0}, ERR_TYPE, "a palette"},
		{WIDTH, HEIGHT, {16, 2, 0, 0, 0}, ERR_TYPE, "16 bits"},
		{WIDTH, HEIGHT, {8, 2, 0, 0, 1}, ERR_TYPE, "interlaced"},
		{WIDTH, HEIGHT, {8, 2, 1, 0, 0}, ERR_TYPE, "another packing"},
		{0, HEIGHT, {8, 2, 0, 0, 0}, ERR_SYNTAX, "no width"},
		{WIDTH, 0, {8, 2, 0, 0, 0}, ERR_SYNTAX, "no height"},
		{WIDTH, PNG_PIXELS_MAX, {8, 2, 0, 0, 0}, ERR_LIMIT, "large"},
		{UINT32_MAX, UINT32_MAX, {8, 2, 0, 0, 0}, ERR_LIMIT, "too large to say"},
		{WIDTH, HEIGHT - 1, {8, 2, 0, 0, 0}, ERR_SYNTAX, "a row too many"},
		{WIDTH, HEIGHT + 1, {8, 2, 0, 0, 0}, ERR_SYNTAX, "a row too few"},
		{WIDTH + 1, HEIGHT, {8, 2, 0, 0, 0}, ERR_SYNTAX, "rows too short"},
	};

	make_rows(3, HEIGHT, 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		put_header(cases[i].width, cases[i].height, cases[i].kind);
		put_rows(packed.n);
		refuses(cases[i].want, cases[i].name);
	}
}

static void test_broken(void)
{
	struct buf good = BUF_INIT(1 << 16);
	size_t wrong = 0;
	struct png p;

	make(3, 0, 60);
	buf_str(&good, buf_view(&file));
	for (size_t n = 0; n < good.n; n++) {
		int r = decode(str_make(good.p, n), &p);

		wrong += r != ERR_SYNTAX;
	}
	is_int(wrong, 0, "cut anywhere");
	for (size_t i = 0; i < good.n; i++) {
		buf_reset(&file);
		buf_str(&file, buf_view(&good));
		file.p[i] ^= 0x10;
		wrong += decode(buf_view(&file), &p) >= 0;
	}
	is_int(wrong, 0, "a bit that has turned anywhere");
	buf_free(&good);
	make_rows(3, HEIGHT, 0);
	put_header(WIDTH, HEIGHT, rgb);
	put_chunk("PLTE", "abc", 3);
	put_rows(60);
	refuses(ERR_TYPE, "a critical chunk that is not known");
	put_header(WIDTH, HEIGHT, rgb);
	put_chunk("IEND", NULL, 0);
	refuses(ERR_SYNTAX, "no rows");
	buf_putc(&packed, 'x');
	put_header(WIDTH, HEIGHT, rgb);
	put_rows(packed.n);
	refuses(ERR_SYNTAX, "bytes behind the rows");
	put_header(WIDTH, HEIGHT, rgb);
	put_rows(packed.n - 1);
	refuses(ERR_SYNTAX, "the same, in a chunk of their own");
	make_rows(3, HEIGHT, 0);
	packed.p[5] ^= 0x55;
	put_header(WIDTH, HEIGHT, rgb);
	put_rows(packed.n);
	refuses(ERR_SYNTAX, "rows that cannot be unpacked");
	buf_reset(&file);
	buf_puts(&file, "GIF89a");
	refuses(ERR_SYNTAX, "another format");
}

/* --- Writing ---------------------------------------------------------------------- */

static bool has_checker(void)
{
	return !system("pngcheck -h >/dev/null 2>&1; test $? -ne 127");
}

/* What a checker says of it, which is not ours. */
static void test_checker(struct str picture)
{
	char path[] = "/tmp/od-png-XXXXXX", command[100];
	int fd;

	if (!has_checker()) {
		skip("pngcheck", "it is not installed");
		return;
	}
	fd = mkstemp(path);
	if (ok(fd >= 0 && write(fd, picture.p, picture.n) == (ssize_t)picture.n,
		    "written to %s", path)) {
		snprintf(command, sizeof(command), "pngcheck -q %s", path);
		is_int(system(command), 0, "pngcheck has no complaints");
		unlink(path);
	}
	if (fd >= 0)
		close(fd);
}

static uint64_t state = 88172645463325252;

static size_t random_below(size_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % n);
}

/* Of any size up to the widest row: noise, flat surfaces, or stripes of either. */
static struct png random_picture(void)
{
	bool large = !random_below(16);
	struct png p = {
		.width = (uint32_t)(1 + random_below(large ? 1500 : 70)),
		.height = (uint32_t)(1 + random_below(large ? 800 : 70)),
	};
	size_t n = (size_t)p.width * p.height * PNG_PIXEL, run = 0;
	size_t longest = (size_t[]){1, 40, 9000}[random_below(3)];
	char byte = 0;

	buf_init(&p.pixels, n);
	for (size_t i = 0; i < n; i++, run--) {
		if (!run) {
			run = 1 + random_below(longest);
			byte = (char)random_below(256);
		}
		buf_putc(&p.pixels, byte);
	}
	return p;
}

static bool comes_back(const struct png *p, struct str picture)
{
	struct png again;
	bool same;

	if (png_decode(&again, picture))
		return false;
	same = again.width == p->width && again.height == p->height &&
		str_eq(buf_view(&again.pixels), buf_view(&p->pixels));
	png_free(&again);
	return same;
}

/* How many are not as they should be; what the checker is to see is in the folder. */
static int write_random(const char *folder, int count)
{
	int wrong = 0;

	for (int i = 0; i < count; i++) {
		struct buf out = BUF_INIT(16 << 20);
		struct png p = random_picture();
		char path[100];
		FILE *f;

		snprintf(path, sizeof(path), "%s/%d.png", folder, i);
		f = fopen(path, "w");
		assert(f);
		wrong += png_encode(&p, &out) || !comes_back(&p, buf_view(&out)) ||
			fwrite(out.p, 1, out.n, f) != out.n;
		fclose(f);
		png_free(&p);
		buf_free(&out);
	}
	return wrong;
}

/* OD_PNG_ROUNDS times 64 of them; by hand some thousands. */
static void test_random(void)
{
	const char *given = getenv("OD_PNG_ROUNDS");
	long rounds = given ? strtol(given, NULL, 10) : 2;
	char folder[] = "/tmp/od-png-XXXXXX", command[200];
	int wrong = 0, complaints = 0;

	assert(mkdtemp(folder));
	for (long i = 0; i < rounds; i++) {
		wrong += write_random(folder, 64);
		snprintf(command, sizeof(command), "pngcheck -q %s/*.png", folder);
		if (has_checker())
			complaints += system(command) != 0;
	}
	is_int(wrong, 0, "%ld pictures come back as they were", 64 * rounds);
	if (has_checker())
		is_int(complaints, 0, "pngcheck has no complaints of them");
	else
		skip("pngcheck of them", "it is not installed");
	snprintf(command, sizeof(command), "rm -r %s", folder);
	is_int(system(command), 0, "removed");
}

static void test_write(void)
{
	struct buf out = BUF_INIT(1 << 16), small = BUF_INIT(0);
	struct png p, again;

	make(4, 0, 100);
	if (!ok(!decode(buf_view(&file), &p), "a picture"))
		return;
	is_int(png_encode(&p, &out), 0, "is written");
	ok(!decode(buf_view(&out), &again) && is_sample(&again), "and read again");
	test_checker(buf_view(&out));
	for (size_t max = 0; max < out.n; max++) {
		small.max = max;
		if (png_encode(&p, &small) != ERR_LIMIT)
			ok(false, "%zu bytes of room", max);
		buf_free(&small);
	}
	png_free(&again);
	png_free(&p);
	buf_free(&out);
}

int main(void)
{
	test_forms();
	test_kinds();
	test_broken();
	test_write();
	test_random();
	buf_free(&file);
	buf_free(&packed);
	return done_testing();
}
