#include "inject/sandbox/process_input.h"

#include "tests/tap.h"

enum { WINDOW = 16 };

/* Reads up to n bytes of the alphabet into the ring; how many it takes. */
static size_t fill(struct process_input *in, size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t space = 0;
		char *p = process_input_space(in, &space);

		if (!p)
			break;
		space = space < n - done ? space : n - done;
		for (size_t i = 0; i < space; i++)
			p[i] = (char)('a' + (in->read + i) % 26);
		process_input_add(in, space);
		done += space;
	}
	return done;
}

/* Sends all that can be sent, step bytes at a time, and appends it to wire. */
static void drain(struct process_input *in, size_t step, struct buf *wire)
{
	struct iovec v[2];
	int n;

	while ((n = process_input_next(in, v)) > 0) {
		size_t left = step;

		for (int i = 0; i < n && left; i++) {
			size_t part = v[i].iov_len < left ? v[i].iov_len : left;

			buf_put(wire, v[i].iov_base, part);
			left -= part;
		}
		process_input_sent(in, step - left);
	}
}

/* The bytes of stdin in frames. */
static void decode(const struct buf *wire, struct buf *out)
{
	struct process_frames frames;
	struct process_frame f;
	struct str rest = buf_view(wire);

	process_frames_init(&frames, true, 64);
	while (process_frames_next(&frames, &rest, &f) == 0)
		buf_str(out, f.bytes);
	process_frames_free(&frames);
}

static void test_steps(void)
{
	for (size_t step = 1; step < 40; step++) {
		struct buf wire = BUF_INIT(4096), got = BUF_INIT(4096);
		struct process_input in;
		bool same = true;
		size_t total = 0;

		if (process_input_init(&in, WINDOW))
			return;
		while (total < 100) {
			total += fill(&in, 7);
			drain(&in, step, &wire);
			if (process_input_credit(&in, in.sent))
				break;
		}
		decode(&wire, &got);
		for (size_t i = 0; i < got.n; i++)
			same = same && got.p[i] == (char)('a' + i % 26);
		ok(same && got.n == total, "steps of %zu bytes: all %zu bytes in order",
			step, total);
		buf_free(&wire);
		buf_free(&got);
		process_input_free(&in);
	}
}

static void test_window(void)
{
	struct buf wire = BUF_INIT(4096);
	struct process_input in;

	is_int(process_input_init(&in, WINDOW), 0, "init");
	is_int(fill(&in, 100), WINDOW, "no more than the window is read");
	drain(&in, 100, &wire);
	is_int(fill(&in, 1), 0, "sent bytes stay until they are dealt with");
	is_int(process_input_credit(&in, 5), 0, "credit");
	is_int(fill(&in, 100), 5, "credit makes space");
	is_int(process_input_credit(&in, 3), 0, "an older credit");
	is_int(fill(&in, 100), 0, "an older credit makes no space");
	is_int(process_input_credit(&in, 1000), ERR_RANGE,
		"credit for what was never sent is refused");
	process_input_free(&in);
	buf_free(&wire);
}

static void test_rewind(void)
{
	struct buf wire = BUF_INIT(4096), got = BUF_INIT(4096);
	struct process_input in;
	struct iovec v[2];

	is_int(process_input_init(&in, WINDOW), 0, "init");
	fill(&in, 10);
	ok(process_input_next(&in, v) == 2, "a frame begins");
	process_input_sent(&in, PROCESS_FRAME_HEAD + 4);
	ok(process_input_in_frame(&in), "a frame is on its way");
	is_int(process_input_rewind(&in, 11), ERR_RANGE, "more than was read");
	is_int(process_input_rewind(&in, 2), 0, "rewind");
	ok(!process_input_in_frame(&in), "another connection begins with a frame");
	drain(&in, 100, &wire);
	decode(&wire, &got);
	is_view(buf_view(&got), "cdefghij", "the rest is sent again");
	is_int(process_input_rewind(&in, 1), ERR_RANGE, "bytes that are gone");
	process_input_free(&in);
	buf_free(&wire);
	buf_free(&got);
}

static void test_none(void)
{
	struct process_input in = {0};
	struct iovec v[2];

	is_int(process_input_next(&in, v), 0, "without memory nothing is sent");
	process_input_free(&in);
}

int main(void)
{
	test_steps();
	test_window();
	test_rewind();
	test_none();
	return done_testing();
}
