#include "inject/http/stream.h"

#include "limits.h"
#include "tests/tap.h"

#include <stdlib.h>

static void test_progress(void)
{
	static const struct {
		const char *line;
		enum progress_kind kind;
		const char *text;
	} rows[] = {
		{"{\"stream\":\"Step 1\\n\"}", PROGRESS_TEXT, "Step 1\n"},
		{"{\"status\":\"Pulling\",\"id\":\"x\"}", PROGRESS_TEXT, "Pulling"},
		{"{\"aux\":{\"ID\":\"sha256:1\"}}", PROGRESS_OTHER, ""},
		{"{\"id\":\"moby.buildkit.trace\",\"aux\":\"Cg==\"}", PROGRESS_TRACE,
			"Cg=="},
		{"{\"id\":\"moby.buildkit.trace\",\"aux\":7}", PROGRESS_TRACE, ""},
		{"{\"error\":\"no\"}", PROGRESS_ERROR, "no"},
		{"{\"errorDetail\":{\"code\":1,\"message\":\"why\"},\"error\":\"no\"}",
			PROGRESS_ERROR, "why"},
		{"{\"errorDetail\":{\"message\":\"why\"}}", PROGRESS_ERROR, "why"},
		{"{\"errorDetail\":{}}", PROGRESS_ERROR, ""},
		{"{\"error\":\"\"}", PROGRESS_ERROR, ""},
		{"{\"error\":1}", PROGRESS_ERROR, ""},
		{"{\"stream\":\"a\",\"error\":\"b\"}", PROGRESS_ERROR, "b"},
		{"{\"stream\":7}", PROGRESS_OTHER, ""},
		{"{}", PROGRESS_OTHER, ""},
		{"", PROGRESS_OTHER, ""},
		{"[\"error\"]", PROGRESS_OTHER, ""},
		{"{\"error\":", PROGRESS_OTHER, ""},
		{"hi", PROGRESS_OTHER, ""},
	};
	struct arena a;

	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct progress p;

		is_int(progress_read(str_c(rows[i].line), &a, &p), 0, "%s", rows[i].line);
		is_int(p.kind, rows[i].kind, "its kind");
		is_view(p.text, rows[i].text, "its text");
	}
	arena_reset(&a);
}

static void test_no_memory(void)
{
	struct progress p = {.kind = PROGRESS_TEXT};
	struct arena a;

	arena_init(&a, 8);
	ok(progress_read(STR("{\"error\":\"x\"}"), &a, &p) < 0, "no room is an error");
	is_int(p.kind, PROGRESS_TEXT, "that leaves the result alone");
	arena_reset(&a);
}

/* Frames fed in pieces of step bytes, as "1:text" per stream change. */
static int gather_frames(struct str text, size_t step, struct buf *out)
{
	struct frames f;
	struct str piece;
	int fd, last = 0, r = 1;

	frames_init(&f);
	buf_reset(out);
	for (size_t at = 0; at < text.n && r >= 0; at += step) {
		struct str in = str_skip(text, at);

		in.n = in.n < step ? in.n : step;
		while ((r = frames_next(&f, &in, &fd, &piece)) == 0) {
			if (fd != last)
				buf_fmt(out, "%d:", fd);
			last = fd;
			buf_str(out, piece);
		}
	}
	return r < 0 ? r : frames_close(&f);
}

static void test_frames(void)
{
	static const char two[] = "\1\0\0\0\0\0\0\5hello\2\0\0\0\0\0\0\3err"
				  "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\1!";
	struct buf out = BUF_INIT(1024);
	size_t n = sizeof(two) - 1;

	for (size_t step = 1; step <= n; step++) {
		is_int(gather_frames(str_make(two, n), step, &out), 0, "by %zu", step);
		is_view(buf_view(&out), "1:hello2:err1:!", "their bytes");
	}
	for (size_t cut = 1; cut < n; cut++) {
		bool whole = cut == 13 || cut == 24 || cut == 32;

		is_int(gather_frames(str_make(two, cut), cut, &out),
			whole ? 0 : ERR_CLOSED, "cut at %zu", cut);
	}
	is_int(gather_frames(str_make("\4\0\0\0\0\0\0\1x", 9), 9, &out), ERR_SYNTAX,
		"an unknown stream");
	is_int(gather_frames(str_make("\1\0\1\0\0\0\0\1x", 9), 9, &out), ERR_SYNTAX,
		"a byte that has to be zero");
	is_int(gather_frames(str_make("\1\0\0\0\xff\xff\xff\xffx", 9), 9, &out),
		ERR_CLOSED, "a frame of 4 GiB is no trouble");
	is_int(gather_frames(STR("plain text of a terminal"), 9, &out), ERR_SYNTAX,
		"no frames at all");
	buf_free(&out);
}

int main(void)
{
	test_progress();
	test_no_memory();
	test_frames();
	return done_testing();
}
