/* Marks on a picture: boxes, labels, and what is left out. */
#include "browser/observe/marks.h"

#include "tests/tap.h"

#include <assert.h>
#include <errno.h>

enum { WIDTH = 120, HEIGHT = 60, ROWS_MAX = 4 };

static struct arena arena;
static struct png picture;

/* A grey picture with the marks of these elements. */
static void draw(const struct props_row *rows, size_t n)
{
	struct props_row copy[ROWS_MAX];
	struct props p = {.row = copy, .n = n};

	memcpy(copy, rows, n * sizeof(*rows));
	arena_reset(&arena);
	arena_init(&arena, 4096);
	assert(!names_init(&p.by_bid, n, &arena));
	for (size_t i = 0; i < n; i++)
		names_put(&p.by_bid, rows[i].bid, i);
	picture.width = WIDTH;
	picture.height = HEIGHT;
	buf_free(&picture.pixels);
	buf_init(&picture.pixels, WIDTH * HEIGHT * PNG_PIXEL);
	for (int i = 0; i < WIDTH * HEIGHT * PNG_PIXEL; i++)
		buf_putc(&picture.pixels, '.');
	marks_draw(&picture, &p);
}

/* Part of a row: # is black, O is white, . is as it was, ! is none of these. */
static struct str row(int y, int x, int n)
{
	static char text[WIDTH];

	for (int i = 0; i < n; i++) {
		const char *p = picture.pixels.p + (y * WIDTH + x + i) * PNG_PIXEL;
		bool even = p[0] == p[1] && p[1] == p[2];

		text[i] = !even             ? '!'
			: p[0] == '.'       ? '.'
			: p[0] == '\0'      ? '#'
			: p[0] == (char)255 ? 'O'
					    : '!';
	}
	return str_make(text, (size_t)n);
}

static size_t changed(void)
{
	size_t n = 0;

	for (size_t i = 0; i < picture.pixels.n; i++)
		n += picture.pixels.p[i] != '.';
	return n / PNG_PIXEL;
}

static void test_box(void)
{
	static const double bbox[] = {40, 20, 30, 25};
	struct props_row rows[] = {{
		.bid = STR("7"),
		.bbox = bbox,
		.set_of_marks = PROPS_MARKED,
	}};

	draw(rows, 1);
	is_view(row(18, 51, 24), "........................", "above the box");
	is_view(row(19, 51, 24), ".####........####.......", "its upper edge");
	is_view(row(20, 51, 24), ".####........####.##....",
		"the same, and the right one");
	is_view(row(24, 65, 8), "........", "between two dashes");
	is_view(row(32, 65, 8), "....##..", "the next dash");
	is_view(row(44, 36, 25), "...#####........####.....", "its lower edge");
	is_view(row(46, 36, 40), "........................................", "below it");
	is_view(row(16, 36, 20), "....OOOOOOOOOOO.....", "the edge of the label");
	is_view(row(17, 36, 20), "....O#########O.....", "the label");
	is_view(row(19, 36, 16), "....O##OOOOO##O.", "the top of a 7");
	is_view(row(27, 36, 16), "....O###O#####O.", "its foot");
	is_view(row(32, 36, 16), "...#OOOOOOOOOOO.", "the label's lower edge");
}

static void test_left_out(void)
{
	static const double bbox[] = {40, 20, 30, 25}, thin[] = {40, 20, 19, 1};
	struct props_row rows[] = {
		{.bid = STR("1"), .bbox = bbox, .set_of_marks = PROPS_UNMARKED},
		{.bid = STR("2"), .bbox = bbox, .set_of_marks = PROPS_UNKNOWN},
		{.bid = STR("3"), .set_of_marks = PROPS_MARKED},
		{.bid = STR("4"), .bbox = thin, .set_of_marks = PROPS_MARKED},
	};

	draw(rows, 4);
	is_int(changed(), 0, "what has no mark, no place or no size");
	rows[0].bid = rows[3].bid;
	rows[0].set_of_marks = PROPS_MARKED;
	draw(rows, 4);
	is_int(changed(), 0, "of two with a bid the last one counts");
}

static void test_edges(void)
{
	static const double around[] = {-20, -20, 200, 200},
			    huge[] = {-1e300, -1e300, 1e301, 1e301};
	static const double out[] = {1e9, 1e9, 1e9, 1e9},
			    corner[] = {WIDTH - 2, HEIGHT - 2, 50, 50};
	static const double left[] = {-31, 30, 50, 20};
	struct props_row one = {.bid = STR("1"), .set_of_marks = PROPS_MARKED};

	one.bbox = around;
	draw(&one, 1);
	is_int(changed(), 0, "a box around the picture");
	one.bbox = huge;
	draw(&one, 1);
	is_int(changed(), 0, "one that is larger than numbers are exact");
	one.bbox = out;
	draw(&one, 1);
	is_int(changed(), 0, "one that is out of sight");
	one.bbox = corner;
	draw(&one, 1);
	is_view(row(HEIGHT - 1, WIDTH - 4, 4), ".#O#", "a corner of a label");
	one.bbox = left;
	draw(&one, 1);
	is_view(row(29, 0, 20), ".....####........##.", "dashes that begin outside");
	one.bid = STR("\xc3\xa9 gq");
	one.bbox = (const double[]){10, 20, 30, 30};
	draw(&one, 1);
	ok(changed() > 100, "letters that there are none of");
	one.bid.n = 0;
	draw(&one, 1);
	ok(changed() > 0, "no letters");
}

static void test_long(void)
{
	static const double bbox[] = {5, 5, 30, 30};
	static char many[5000];
	struct props_row one = {
		.bid = {many, sizeof(many)}, .bbox = bbox, .set_of_marks = PROPS_MARKED};

	memset(many, '8', sizeof(many));
	draw(&one, 1);
	is_view(row(3, WIDTH - 5, 5), "#####", "a label that is too long");
}

static void test_file(void)
{
	static const double bbox[] = {40, 20, 30, 25};
	struct props_row one = {
		.bid = STR("7"), .bbox = bbox, .set_of_marks = PROPS_MARKED};
	struct buf plain = BUF_INIT(1 << 16), marked = BUF_INIT(1 << 16);
	struct props p = {.row = &one, .n = 1};
	size_t want;

	draw(&one, 1);
	want = changed();
	draw(&one, 0);
	assert(!names_init(&p.by_bid, 1, &arena));
	names_put(&p.by_bid, one.bid, 0);
	ok(!png_encode(&picture, &plain), "a picture");
	is_int(marks_put_png(buf_view(&plain), &p, &marked), 0, "is marked");
	png_free(&picture);
	ok(!png_decode(&picture, buf_view(&marked)), "and can be read");
	is_int(changed(), want, "it is the same as one that was drawn on");
	is_int(marks_put_png(STR("no picture"), &p, &marked), ERR_SYNTAX, "no picture");
	buf_free(&plain);
	buf_free(&marked);
}

int main(void)
{
	test_box();
	test_left_out();
	test_edges();
	test_long();
	test_file();
	arena_reset(&arena);
	png_free(&picture);
	return done_testing();
}
