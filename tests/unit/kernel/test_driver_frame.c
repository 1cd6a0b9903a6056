#include "kernel/driver_frame.h"

#include "tests/tap.h"

/* The frames so far, in brackets; then '!' for one that is too long. */
static void take(struct driver_frames *f, struct buf *seen)
{
	struct str frame;
	int r;

	while ((r = driver_frames_next(f, &frame)) == 0) {
		buf_putc(seen, '<');
		buf_str(seen, frame);
		buf_putc(seen, '>');
	}
	if (r < 0)
		buf_putc(seen, '!');
}

static void feed(struct driver_frames *f, struct str bytes, struct buf *seen)
{
	if (driver_frames_put(f, bytes) < 0)
		buf_puts(seen, "?");
	take(f, seen);
}

static void check_split(void)
{
	struct buf in = BUF_INIT(4096), seen = BUF_INIT(4096);
	struct driver_frames f;
	size_t bad = 0;

	driver_frame_put(&in, STR("{\"t\":\"hello\"}"));
	driver_frame_put(&in, STR(""));
	driver_frame_put(&in, STR("[1]"));
	is_int((int64_t)in.n, 3 * DRIVER_FRAME_HEAD + 16, "three frames");
	for (size_t at = 0; at <= in.n; at++) {
		buf_reset(&seen);
		driver_frames_init(&f);
		feed(&f, str_make(in.p, at), &seen);
		feed(&f, str_skip(buf_view(&in), at), &seen);
		bad += !str_eq(buf_view(&seen), STR("<{\"t\":\"hello\"}><><[1]>"));
		driver_frames_free(&f);
	}
	ok(bad == 0, "the same, cut anywhere");
	buf_reset(&seen);
	driver_frames_init(&f);
	for (size_t at = 0; at < in.n; at++)
		feed(&f, str_make(in.p + at, 1), &seen);
	ok(str_eq(buf_view(&seen), STR("<{\"t\":\"hello\"}><><[1]>")), "byte by byte");
	driver_frames_free(&f);
	buf_free(&in);
	buf_free(&seen);
}

static void check_long(void)
{
	static const char most[] = {(char)(DRIVER_FRAME_MAX & 0xff),
		(char)(DRIVER_FRAME_MAX >> 8 & 0xff),
		(char)(DRIVER_FRAME_MAX >> 16 & 0xff), (char)(DRIVER_FRAME_MAX >> 24)};
	static char room[DRIVER_READ];
	struct driver_frames f;
	struct str frame = {0};
	size_t left = DRIVER_FRAME_MAX;
	int r = 0;

	driver_frames_init(&f);
	r = driver_frames_put(&f, str_make(most, 4));
	while (r == 0 && left) {
		size_t n = left < sizeof(room) ? left : sizeof(room);

		r = driver_frames_put(&f, str_make(room, n));
		left -= n;
		if (left && driver_frames_next(&f, &frame) <= 0)
			r = -1;
	}
	is_int(r, 0, "the longest frame has room");
	is_int(driver_frames_next(&f, &frame), 0, "...is taken");
	is_int((int64_t)frame.n, DRIVER_FRAME_MAX, "...as a whole");
	is_int(driver_frames_put(&f, STR("\xff\xff\xff\xff")), 0, "another head");
	is_int(driver_frames_next(&f, &frame), ERR_LIMIT, "of one that is longer");
	ok(f.in.cap < 1 << 20, "a long one leaves no memory behind");
	driver_frames_free(&f);
}

int main(void)
{
	check_split();
	check_long();
	return done_testing();
}
