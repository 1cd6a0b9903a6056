/* The frames of an attached process: heads, and the decoder at every split. */
#include "codec/process_frame.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { CONTROL_MAX = 32, TEXT_MAX = 4096 };

/* All frames of both directions, empty ones too. */
static const char to_sandbox[] = "\0\0\0\0\0\0\0\3abc"
				 "\4\0\0\0\0\0\0\x0e{\"type\":\"end\"}"
				 "\0\0\0\0\0\0\0\0"
				 "\0\0\0\0\0\0\0\2\0\xff";
static const char from_sandbox[] = "\1\0\0\0\0\0\0\3out"
				   "\2\0\0\0\0\0\0\3err"
				   "\4\0\0\0\0\0\0\2{}"
				   "\4\0\0\0\0\0\0\2[]"
				   "\1\0\0\0\0\0\0\1x";

/* The decoded frames: "0:abc" in pieces becomes one text per type and frame order. */
struct result {
	char text[TEXT_MAX];
	size_t n;
	int last; /* type of the last piece; -1: none */
	int err;  /* result of the last call */
};

static void result_add(struct result *res, const struct process_frame *f)
{
	/* Controls are whole; consecutive pieces of data are joined. */
	if ((int)f->type != res->last || f->type == PROCESS_FRAME_CONTROL)
		res->n += (size_t)sprintf(res->text + res->n, "<%d>", (int)f->type);
	memcpy(res->text + res->n, f->bytes.p, f->bytes.n);
	res->n += f->bytes.n;
	res->last = (int)f->type;
}

/* Feeds one piece in memory of its own size, so that a read too far is caught. */
static void feed(struct process_frames *r, const char *p, size_t n, struct result *res)
{
	char *copy = malloc(n ? n : 1);
	struct str in = str_make(copy, n);
	struct process_frame f;

	memcpy(copy, p, n);
	while (res->err >= 0 && (res->err = process_frames_next(r, &in, &f)) == 0)
		result_add(res, &f);
	if (res->err == 1 && in.n)
		res->err = -1;
	free(copy);
}

/* Decodes n bytes in pieces of cut, then the rest; with step in pieces of step. */
static struct result decode(
	bool direction, const char *p, size_t n, size_t cut, size_t step)
{
	struct process_frames r;
	struct result res = {.last = -1};

	process_frames_init(&r, direction, CONTROL_MAX);
	feed(&r, p, cut, &res);
	for (size_t i = cut; i < n; i += step)
		feed(&r, p + i, n - i < step ? n - i : step, &res);
	process_frames_free(&r);
	return res;
}

static void check_splits(bool direction, const char *p, size_t n, const char *want,
	size_t want_n, const char *name)
{
	struct result res = decode(direction, p, n, n, 1);

	is_int(res.err, 1, "%s: all frames are decoded", name);
	is_mem(res.text, res.n, want, want_n, "%s: the frames are exact", name);
	res = decode(direction, p, n, 0, 1);
	is_mem(res.text, res.n, want, want_n, "%s: byte by byte", name);
	for (size_t i = 0; i < n; i++) {
		res = decode(direction, p, n, i, n);
		is_mem(res.text, res.n, want, want_n, "%s: split at %zu", name, i);
	}
}

static void check_error(
	bool direction, const char *p, size_t n, int err, const char *name)
{
	is_int(decode(direction, p, n, n, 1).err, err, "%s", name);
	is_int(decode(direction, p, n, 0, 1).err, err, "%s, byte by byte", name);
}

#define CHECK_ERROR(direction, lit, err, name) \
	check_error(direction, lit, sizeof(lit) - 1, err, name)

static void test_errors(void)
{
	CHECK_ERROR(true, "\1\0\0\0\0\0\0\1", ERR_SYNTAX, "stdout to the sandbox fails");
	CHECK_ERROR(true, "\2\0\0\0\0\0\0\1", ERR_SYNTAX, "stderr to the sandbox fails");
	CHECK_ERROR(false, "\0\0\0\0\0\0\0\1", ERR_SYNTAX, "stdin from it fails");
	for (char type = 3; type < 120; type++) {
		char head[PROCESS_FRAME_HEAD] = {type, 0, 0, 0, 0, 0, 0, 1};

		if (type != PROCESS_FRAME_CONTROL)
			check_error(true, head, sizeof(head), ERR_SYNTAX, "unknown type");
	}
	CHECK_ERROR(true, "\0\1\0\0\0\0\0\1", ERR_SYNTAX, "byte 1 is not zero");
	CHECK_ERROR(true, "\0\0\1\0\0\0\0\1", ERR_SYNTAX, "byte 2 is not zero");
	CHECK_ERROR(true, "\0\0\0\1\0\0\0\1", ERR_SYNTAX, "byte 3 is not zero");
	CHECK_ERROR(true, "\0\0\0\0\0\x10\0\0", 1, "1 MiB of data is legal");
	CHECK_ERROR(true, "\0\0\0\0\0\x10\0\1", ERR_LIMIT, "more than 1 MiB is not");
	CHECK_ERROR(true, "\0\0\0\0\xff\xff\xff\xff", ERR_LIMIT, "nor is 4 GiB");
	CHECK_ERROR(true, "\4\0\0\0\0\0\0\x20", 1, "a control of the maximum is legal");
	CHECK_ERROR(true, "\4\0\0\0\0\0\0\x21", ERR_LIMIT, "a longer control is not");
	CHECK_ERROR(true, "\4\0\0\0\0\0\0\0", ERR_SYNTAX, "an empty control is not");
}

static void test_encoder(void)
{
	uint8_t head[PROCESS_FRAME_HEAD];
	struct buf out = BUF_INIT(64), small = BUF_INIT(4);
	size_t at;

	process_frame_write_head(head, PROCESS_FRAME_STDERR, 0x0a0b0c);
	is_mem((char *)head, sizeof(head), "\2\0\0\0\0\x0a\x0b\x0c", sizeof(head),
		"the head, byte by byte");
	buf_puts(&out, "before");
	at = process_frame_begin(&out, PROCESS_FRAME_CONTROL);
	buf_puts(&out, "{}");
	process_frame_end(&out, at);
	is_mem(out.p, out.n, "before\4\0\0\0\0\0\0\2{}", 16,
		"a frame is appended with its length");
	at = process_frame_begin(&small, PROCESS_FRAME_CONTROL);
	process_frame_end(&small, at);
	is_int(small.err, ERR_LIMIT,
		"a frame without space leaves the error of the buffer");
	buf_free(&out);
	buf_free(&small);
}

/* Bytes of data that the caller moves by itself. */
static void test_skip(void)
{
	static const char bytes[] = "\0\0\0\0\0\0\0\5ab\4\0\0\0\0\0\0\2{}";
	struct process_frames r;
	struct process_frame f;
	struct str in = str_make(bytes, 8);

	process_frames_init(&r, true, CONTROL_MAX);
	is_int((int)process_frames_count_data(&r), 0, "no data is ahead of a head");
	is_int(process_frames_next(&r, &in, &f), 1, "a head alone is no frame");
	is_int((int)process_frames_count_data(&r), 5, "its payload is ahead");
	process_frames_skip(&r, 3);
	in = str_make(bytes + 8, sizeof(bytes) - 9);
	is_int(process_frames_next(&r, &in, &f), 0, "the rest is read");
	is_view(f.bytes, "ab", "behind the bytes that were skipped");
	is_int(process_frames_next(&r, &in, &f), 0, "the next frame follows");
	ok(f.type == PROCESS_FRAME_CONTROL, "with its type");
	is_view(f.bytes, "{}", "and its payload");
	is_int((int)process_frames_count_data(&r), 0, "no data is ahead of a control");
	in = str_make(bytes, 8);
	is_int(process_frames_next(&r, &in, &f), 1, "another head");
	process_frames_skip(&r, 5);
	is_int((int)process_frames_count_data(&r), 0,
		"a frame that was skipped is complete");
	in = str_make(bytes + 10, sizeof(bytes) - 11);
	is_int(process_frames_next(&r, &in, &f), 0, "and the next one is read");
	process_frames_free(&r);
}

int main(void)
{
	static const char to[] = "<0>abc<4>{\"type\":\"end\"}<0>\0\xff";
	static const char from[] = "<1>out<2>err<4>{}<4>[]<1>x";

	check_splits(true, to_sandbox, sizeof(to_sandbox) - 1, to, sizeof(to) - 1, "to");
	check_splits(false, from_sandbox, sizeof(from_sandbox) - 1, from,
		sizeof(from) - 1, "from");
	test_errors();
	test_encoder();
	test_skip();
	return done_testing();
}
