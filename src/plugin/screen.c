#include "plugin/screen.h"

#include "base/b64.h"
#include "base/jw.h"
#include "base/list.h"
#include "plugin/external.h"

#include <stdlib.h>

#define BOUNDARY "--picture\r\n"

enum {
	SCREEN_VIEWERS_MAX = 8,       /* each may have an unread picture */
	SCREEN_PICTURE_MAX = 2 << 20, /* bytes of a JPEG picture; usually 200 KB */
	SCREEN_PAUSE_MS = 100,        /* between two pictures */
};

struct screen;

/* A client that watches the screen. Lives in the arena of its request. */
struct viewer {
	struct list node;
	struct screen *screen;
	struct request *rq;
	uint64_t shown; /* number of the last picture sent to it */
	bool full;      /* it has not read that picture yet */
};

/* Exists while there is a viewer. */
struct screen {
	struct plugin_instance *plug;
	struct list viewers;
	size_t viewers_n;
	struct buf picture; /* the last picture, as a part of the stream */
	uint64_t pictures;
	struct timer pause; /* before the next picture is sent */
};

/* --- Viewers ---------------------------------------------------------------------- */

static void screen_send_picture(struct screen *s, struct viewer *v)
{
	if (v->full || v->shown == s->pictures || !s->picture.n)
		return;
	v->shown = s->pictures;
	v->full = !request_write(v->rq, buf_view(&s->picture));
}

static void screen_send_pictures(struct screen *s);

static void screen_on_pause_end(struct timer *t)
{
	screen_send_pictures(container_of(t, struct screen, pause));
}

/*
 * Sends the latest picture at once, then at most one per SCREEN_PAUSE_MS. Pictures in
 * between are skipped.
 */
static void screen_send_pictures(struct screen *s)
{
	bool any = false;

	if (timer_is_armed(&s->pause))
		return;
	LIST_EACH (struct viewer, v, &s->viewers, node) {
		any = any || v->shown != s->pictures;
		screen_send_picture(s, v);
	}
	if (any)
		timer_set(s->plug->box->loop, &s->pause, SCREEN_PAUSE_MS,
			screen_on_pause_end);
}

static void screen_del(struct screen *s)
{
	s->plug->extra = NULL;
	timer_cancel(s->plug->box->loop, &s->pause);
	buf_free(&s->picture);
	free(s);
}

static void screen_del_viewer(struct viewer *v)
{
	struct screen *s = v->screen;

	list_remove(&v->node);
	s->viewers_n--;
	v->rq->user = NULL;
	if (s->viewers_n)
		return;
	external_builtin_send_op(s->plug, "unwatch");
	screen_del(s);
}

static struct screen *screen_new(struct plugin_instance *p)
{
	struct screen *s = calloc(1, sizeof(*s));

	if (s)
		*s = (struct screen){.plug = p, .picture = BUF_INIT(SCREEN_PICTURE_MAX)};
	p->extra = s;
	return s;
}

static struct screen *screen_of(struct plugin_instance *p)
{
	return p->extra ? p->extra : screen_new(p);
}

static void screen_on_writable(struct request *rq)
{
	struct viewer *v = rq->user;

	v->full = false;
	screen_send_picture(v->screen, v);
}

static void screen_on_close(struct request *rq)
{
	screen_del_viewer(rq->user);
}

static void screen_add_viewer(struct plugin_instance *p, struct request *rq)
{
	static const struct request_ops ops = {
		.on_close = screen_on_close, .on_writable = screen_on_writable};
	struct viewer *v = arena_alloc(&rq->arena, sizeof(*v));
	struct screen *s = v ? screen_of(p) : NULL;

	if (!s) {
		request_fail(
			rq, 503, STR("The sandbox is out of memory for this request."));
		return;
	}
	if (s->viewers_n == SCREEN_VIEWERS_MAX) {
		request_fail(
			rq, 503, STR("Too many clients already receive the pictures."));
		return;
	}
	*v = (struct viewer){.screen = s, .rq = rq};
	rq->ops = &ops;
	rq->user = v;
	rq->needs_peer = true;
	request_add_field(rq, STR("cache-control"), STR("no-store"));
	request_begin(rq, 200, "multipart/x-mixed-replace; boundary=picture",
		REQUEST_LENGTH_UNKNOWN);
	v->full = !request_write(rq, STR(BOUNDARY));
	list_prepend(&s->viewers, &v->node);
	if (s->viewers_n++ == 0)
		external_builtin_send_op(p, "watch");
	screen_send_picture(s, v);
}

/* --- From the process ------------------------------------------------------------- */

void screen_on_ready(struct plugin_instance *p)
{
	if (p->extra)
		external_builtin_send_op(p, "watch");
}

bool screen_on_frame(struct plugin_instance *p, struct str frame)
{
	const struct str front = STR("{\"op\":\"picture\",\"jpeg\":\"");
	struct str coded = str_skip(frame, front.n);
	struct screen *s = p->extra;

	if (!str_starts(frame, front) || !str_ends(coded, STR("\"}")))
		return false;
	coded.n -= 2;
	/* The last viewer may have disconnected while the picture was being sent. */
	if (!s)
		return true;
	buf_reset(&s->picture);
	buf_puts(&s->picture, "Content-Type: image/jpeg\r\n\r\n");
	if (b64_decode(&s->picture, coded)) {
		buf_free(&s->picture);
		return true;
	}
	/*
	 * A boundary at the end of the picture makes it visible before the next one
	 * comes.
	 */
	buf_puts(&s->picture, "\r\n" BOUNDARY);
	if (s->picture.err) {
		buf_free(&s->picture);
		return true;
	}
	s->pictures++;
	screen_send_pictures(s);
	return true;
}

/* --- The plugin ------------------------------------------------------------------- */

void screen_drain(struct plugin_instance *p)
{
	struct screen *s;

	while ((s = p->extra)) {
		struct viewer *v = LIST_FIRST(&s->viewers, struct viewer, node);
		struct request *rq = v->rq;

		screen_del_viewer(v);
		request_end(rq);
	}
}

void screen_handle(struct plugin_instance *p, struct request *rq)
{
	struct str stream;
	int r = request_query(rq, STR("stream"), &stream);

	if (r == 0 && !str_eq(stream, STR("mjpeg")))
		r = ERR_SYNTAX;
	if (r < 0)
		request_fail(
			rq, 422, STR("\"stream\" must be mjpeg, or must be left out."));
	else if (!p->data)
		request_fail(rq, 503, STR("The sandbox has no browser."));
	else if (!external_builtin_is_running(p))
		request_fail(rq, 409,
			STR("No browser has been started yet: the first browse or "
			    "browse_interactive action starts it."));
	else if (r == 0)
		screen_add_viewer(p, rq);
	else
		external_builtin_handle(p, rq);
}
