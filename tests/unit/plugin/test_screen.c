/* What the browser's process says of how it looks, and those who look on. */
#include "plugin/screen.h"

#include "loop/loop.h"
#include "plugin/external.h"
#include "tests/tap.h"

enum { VIEWERS = 9 };

static struct buf said = BUF_INIT(65536); /* to whom what was said */
static struct loop *loop;
static struct box box;
static struct plugin_instance plug = {.box = &box, .data = &plug};
static struct request viewers[VIEWERS];
static bool full, runs = true;
static const char *stream = "mjpeg";

/* --- What screen.c asks of others -------------------------------------------------- */

static int number(const struct request *rq)
{
	return (int)(rq - viewers);
}

int request_query(struct request *rq, struct str name, struct str *value)
{
	(void)rq;
	(void)name;
	if (!stream)
		return 1;
	*value = str_c(stream);
	return 0;
}

void request_add_field(struct request *rq, struct str name, struct str value)
{
	(void)rq;
	(void)name;
	(void)value;
}

void request_begin(struct request *rq, unsigned status, const char *type, uint64_t length)
{
	(void)type;
	(void)length;
	buf_fmt(&said, "[%d: %u]", number(rq), status);
}

bool request_write(struct request *rq, struct str piece)
{
	buf_fmt(&said, "[%d< %zu]", number(rq), piece.n);
	return !full;
}

void request_end(struct request *rq)
{
	buf_fmt(&said, "[%d.]", number(rq));
}

void request_fail(struct request *rq, unsigned status, struct str words)
{
	(void)words;
	buf_fmt(&said, "[%d! %u]", number(rq), status);
}

bool external_builtin_is_running(const struct plugin_instance *p)
{
	(void)p;
	return runs;
}

void external_builtin_send_op(struct plugin_instance *p, const char *op)
{
	(void)p;
	buf_fmt(&said, "[%s]", op);
}

static void external_gone(struct request *rq)
{
	buf_fmt(&said, "[%d gone]", number(rq));
}

void external_builtin_handle(struct plugin_instance *p, struct request *rq)
{
	static const struct request_ops ops = {.on_close = external_gone};

	rq->ops = &ops;
	(void)p;
	buf_fmt(&said, "[%d?]", number(rq));
}

/* --- The tests --------------------------------------------------------------------- */

static void heard(const char *want, const char *name)
{
	is_view(buf_view(&said), want, "%s", name);
	buf_reset(&said);
}

static void look_on(int i)
{
	arena_init(&viewers[i].arena, 65536);
	screen_handle(&plug, &viewers[i]);
}

static void leave(int i)
{
	viewers[i].ops->on_close(&viewers[i]);
	arena_reset(&viewers[i].arena);
}

static bool say(const char *frame)
{
	return screen_on_frame(&plug, str_c(frame));
}

#define PICTURE "{\"op\":\"picture\",\"jpeg\":\"AAAA\"}"

static void stop(struct timer *t)
{
	(void)t;
	loop_stop(loop);
}

/* Lets the pause between two pictures pass. */
static void wait_a_moment(void)
{
	struct timer t = {0};

	timer_set(loop, &t, 250, stop);
	if (loop_run(loop) < 0)
		buf_puts(&said, "no loop");
}

static void test_frames(void)
{
	static const char *const others[] = {"", "{}", "{\"op\":\"pong\"}",
		"{\"op\":\"picture\"}", "{\"op\":\"picture\",\"jpeg\":\"",
		"{\"op\":\"picture\",\"jpeg\":\"\"", " " PICTURE, PICTURE " "};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		ok(!say(others[i]), "not for us: %s", others[i]);
	ok(say(PICTURE), "a picture that nobody waits for");
	heard("", "...is thrown away");
	look_on(0);
	heard("[0: 200][0< 11][watch]", "the first who looks on");
	ok(say("{\"op\":\"picture\",\"jpeg\":\"A*AA\"}"), "one that is none");
	ok(say("{\"op\":\"picture\",\"jpeg\":\"\\\"},{\"}"), "...nor this");
	heard("", "...is not shown");
	ok(say(PICTURE), "one that is");
	heard("[0< 44]", "...is");
	ok(say("{\"op\":\"picture\",\"jpeg\":\"\"}"), "one without a byte");
	wait_a_moment();
	heard("[0< 41]", "...is one, too, when the pause is over");
	leave(0);
	heard("[unwatch]", "nobody looks on any more");
	ok(!plug.extra, "nothing is kept for that");
}

static void test_viewers(void)
{
	look_on(0);
	ok(say(PICTURE), "a picture");
	buf_reset(&said);
	look_on(1);
	heard("[1: 200][1< 11][1< 44]", "who comes later sees the last one");
	full = true;
	wait_a_moment();
	ok(say(PICTURE) && say(PICTURE), "two pictures");
	wait_a_moment();
	ok(say(PICTURE), "a third");
	wait_a_moment();
	heard("[1< 44][0< 44]", "who does not read gets one");
	full = false;
	viewers[0].ops->on_writable(&viewers[0]);
	heard("[0< 44]", "...and the last when he has");
	for (int i = 2; i < VIEWERS; i++)
		look_on(i);
	ok(str_ends(buf_view(&said), STR("[8! 503]")), "there is a limit");
	buf_reset(&said);
	arena_reset(&viewers[8].arena);
	screen_on_ready(&plug);
	heard("[watch]", "the next process is told that they look on");
	for (int i = 1; i < VIEWERS - 1; i++)
		leave(i);
	heard("", "all but one leave");
	screen_drain(&plug);
	heard("[unwatch][0.]", "the server stops");
	arena_reset(&viewers[0].arena);
	screen_on_ready(&plug);
	heard("", "nobody is left");
}

static void test_refusals(void)
{
	stream = "h264";
	look_on(0);
	heard("[0! 422]", "another stream");
	stream = "mjpeg";
	runs = false;
	look_on(0);
	heard("[0! 409]", "no browser yet");
	plug.data = NULL;
	look_on(0);
	heard("[0! 503]", "no browser at all");
	plug.data = &plug;
	runs = true;
	stream = NULL;
	look_on(0);
	heard("[0?]", "one picture is asked for");
	viewers[0].ops->on_close(&viewers[0]);
	heard("[0 gone]", "...by somebody who has left");
}

int main(void)
{
	int err = 0;

	loop = loop_new(&err);
	if (!loop)
		return 1;
	box.loop = loop;
	test_frames();
	test_viewers();
	test_refusals();
	loop_del(loop);
	buf_free(&said);
	return done_testing();
}
