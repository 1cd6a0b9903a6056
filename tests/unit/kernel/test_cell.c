#include "kernel/cell.h"

#include "limits.h"
#include "tests/tap.h"

#include <stdlib.h>

static struct buf out = BUF_INIT(64 << 20);

/* text, cut at every position, gives want. */
static void content(struct str text, struct str want, const char *name)
{
	struct cell c;
	size_t bad = 0;

	cell_init(&c);
	for (size_t at = 0; at <= text.n; at++) {
		cell_reset(&c);
		cell_put_text(&c, str_make(text.p, at));
		cell_put_text(&c, str_skip(text, at));
		buf_reset(&out);
		if (cell_write_content(&c, &out) < 0 || !str_eq(buf_view(&out), want))
			bad++;
	}
	ok(bad == 0, "%s, cut anywhere", name);
	cell_free(&c);
}

#define CONTENT(text, want, name) content(STR(text), STR(want), name)

static void check_text(void)
{
	struct cell c;

	cell_init(&c);
	buf_reset(&out);
	is_int(cell_write_content(&c, &out), 0, "a cell without a text");
	ok(str_eq(buf_view(&out), STR("[Code executed successfully with no output]")),
		"has words of its own");
	cell_free(&c);
	CONTENT("", "", "an empty text is none of them");
	CONTENT("a\nb", "a\nb", "a text");
	CONTENT("a\0b\0", "a\0b\0", "NUL");
	CONTENT("\xff\xc3", "\xff\xc3", "what is no UTF-8 stays for the writer");
	CONTENT("a \t\r\n\v\f\x1c\x1d\x1e\x1f", "a", "ASCII's blanks at the end");
	CONTENT("a\xc2\xa0\xc2\x85\xe3\x80\x80\xe2\x80\xa8\xe1\x9a\x80", "a",
		"Unicode's blanks");
	CONTENT("a\xe2\x80\x8b", "a\xe2\x80\x8b", "a zero width space is none");
	CONTENT("a\x80 \n", "a\x80", "blanks behind a broken character");
	CONTENT("  \n ", "", "blanks alone");
	CONTENT(" a", " a", "blanks at the front stay");
}

static void check_colours(void)
{
	CONTENT("\033[31mred\033[0m", "red", "one number");
	CONTENT("\033[1;31mx\033[38;5;208my", "xy", "two and three");
	CONTENT("\033[1;2;3;4mx", "\033[1;2;3;4mx", "four stay");
	CONTENT("\033[mx", "\033[mx", "none stays");
	CONTENT("\033[1;mx", "\033[1;mx", "a missing number stays");
	CONTENT("\033[31", "\033[31", "an unfinished one stays");
	CONTENT("\033", "\033", "an escape alone stays");
	CONTENT("\033\033[0m[0mx", "\033[0mx", "what is left may look like one");
	CONTENT("\033[2Jx", "\033[2Jx", "other sequences stay");
	CONTENT("x \033[0m", "x", "blanks before one at the end go");
}

static void check_much(void)
{
	static const char mark[] = " bytes of output were left out here ...]\n";
	enum { PIECE = 1000003, PIECES = 20 };
	char *piece = malloc(PIECE);
	uint64_t kept, left;
	struct cell c;
	size_t at;

	if (!piece) {
		ok(false, "memory");
		return;
	}
	cell_init(&c);
	cell_put_text(&c, STR("begin"));
	memset(piece, 'x', PIECE);
	for (int i = 0; i < PIECES; i++)
		cell_put_text(&c, str_make(piece, PIECE));
	cell_put_text(&c, STR("end"));
	buf_reset(&out);
	is_int(cell_write_content(&c, &out), 0, "20 MB");
	at = str_find(buf_view(&out), STR("\n[... "));
	ok(at == CELL_HEAD_MAX, "what came first stays");
	left = strtoull(out.p + at + 6, NULL, 10);
	kept = out.n - str_find(buf_view(&out), STR(mark)) - sizeof(mark) + 1;
	is_int((int64_t)kept, CELL_TAIL_MAX, "so does what came last");
	is_int((int64_t)(left + kept + CELL_HEAD_MAX), (int64_t)PIECE * PIECES + 8,
		"and the rest is counted");
	ok(str_starts(buf_view(&out), STR("beginx")) &&
			str_ends(buf_view(&out), STR("xend")),
		"in its order");
	cell_reset(&c);
	cell_put_text(&c, STR("next"));
	buf_reset(&out);
	is_int(cell_write_content(&c, &out), 0, "after it");
	ok(str_eq(buf_view(&out), STR("next")), "a text of its own");
	cell_free(&c);
	free(piece);
}

static struct str images(const struct cell *c)
{
	struct jw w;

	buf_reset(&out);
	jw_init(&w, &out);
	cell_write_images(c, &w);
	return buf_view(&out);
}

static void check_images(void)
{
	size_t big = CELL_IMAGES_MAX - 100;
	char *room = malloc(big);
	struct cell c;

	cell_init(&c);
	ok(!cell_has_images(&c), "a new cell has no images");
	cell_put_image(&c, STR("iVBO\n"));
	ok(cell_has_images(&c), "an image");
	cell_put_image(&c, STR("a\"b"));
	ok(str_eq(images(&c),
		   STR("[\"data:image/png;base64,iVBO\","
		       "\"data:image/png;base64,a\\\"b\"]")),
		"two, without blanks at their ends");
	ok(cell_has_images(&c), "a cell with images has some");
	ok(!c.has_text, "an image is no text");
	if (room) {
		memset(room, 'A', big);
		cell_put_image(&c, str_make(room, big));
		cell_put_image(&c, str_make(room, big));
	}
	ok(str_find(images(&c), STR("AAAA")) == out.n, "none that is too long");
	buf_reset(&out);
	ok(cell_write_content(&c, &out) == 0 &&
			str_find(buf_view(&out), STR("was left out")) < out.n,
		"which is told");
	free(room);
	cell_free(&c);
}

int main(void)
{
	check_text();
	check_colours();
	check_much();
	check_images();
	buf_free(&out);
	return done_testing();
}
