/*
 * The channel of a session's live terminal. It carries the present screen, then the
 * output as programs write it, and input for the command that runs.
 */
#include "server/stream/channel.h"

#include "action/session.h"
#include "base/utf8.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { ID_MAX = 64 };

struct session_channel {
	struct channel channel;
	struct shell *shell; /* NULL: the shell is gone */
	struct shell_follower follower;
	uint64_t at;            /* offset in the output since this server process began */
	uint64_t known;         /* offset that the peer has reached; marks are not sent */
	char command[ID_MAX];   /* id of the command that the peer has */
	const char *sent_state; /* the state that was sent last */
	struct later later;
};

static struct session_channel *channel_session_cast(struct channel *c)
{
	return container_of(c, struct session_channel, channel);
}

static void channel_session_on_change(struct shell_follower *f, bool gone)
{
	struct session_channel *v = container_of(f, struct session_channel, follower);

	if (gone)
		v->shell = NULL;
	channel_wake(&v->channel);
}

static const char *channel_session_get_state(enum shell_state state)
{
	switch (state) {
	case SHELL_NONE:
		return "none";
	case SHELL_STARTING:
		return "starting";
	case SHELL_RUNNING:
		return "running";
	case SHELL_DONE:
	case SHELL_IDLE:
	case SHELL_REPORTED:
		return "idle";
	}
	return "none";
}

static uint64_t channel_session_get_end(struct shell *s)
{
	return shell_get_dropped(s) + shell_output_end(s);
}

static struct session_channel *channel_session_new(struct shell *shell)
{
	struct session_channel *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->shell = shell;
	v->at = UINT64_MAX;
	v->sent_state = channel_session_get_state(shell_state(shell));
	v->follower.fn = channel_session_on_change;
	shell_follow(shell, &v->follower);
	return v;
}

static struct channel *channel_session_begin(struct stream *s,
	const struct stream_request *ask, struct jw *w, struct channel_refusal *why)
{
	struct str name = ask->session.n ? ask->session : STR(SESSION_DEFAULT);
	struct session *session = session_find(stream_get_api(s)->box, name);
	struct session_channel *v;

	if (ask->window < STREAM_LIVE) {
		why->message = "The window is too small for a session.";
		return NULL;
	}
	v = session ? channel_session_new(session_shell(session)) : NULL;
	if (!v) {
		why->message = session ? "Out of memory."
				       : "No session has this name. GET /v1/sessions "
					 "lists the sessions.";
		return NULL;
	}
	/* An offset of another process of the server is meaningless here. */
	if (ask->offset <= channel_session_get_end(v->shell) &&
		str_eq(ask->epoch, str_c(stream_get_epoch(s))))
		v->at = ask->offset;
	jw_key(w, "session");
	jw_cstr(w, session_name(session));
	jw_key(w, "state");
	jw_cstr(w, v->sent_state);
	jw_key(w, "offset");
	jw_uint(w, v->at == UINT64_MAX ? channel_session_get_end(v->shell) : v->at);
	return &v->channel;
}

/* Sends the last rows of the screen, as many as fit into a frame. */
static void channel_session_send_screen(struct session_channel *v)
{
	struct buf screen = BUF_INIT(RUN_OUTPUT_MAX);
	struct str text;

	v->known = v->at = shell_get_dropped(v->shell) + shell_screen_end(v->shell);
	if (shell_screen(v->shell, &screen) < 0)
		buf_reset(&screen);
	text = buf_view(&screen);
	if (text.n > STREAM_SNAPSHOT) {
		text = str_skip(text, text.n - STREAM_SNAPSHOT);
		text = str_skip(text, str_find_byte(text, '\n') + 1);
	}
	channel_send(&v->channel, CHANNEL_SNAPSHOT, v->at, 0, text);
	buf_free(&screen);
}

static void channel_session_on_open(struct channel *c)
{
	struct session_channel *v = channel_session_cast(c);

	v->known = v->at;
	if (v->at == UINT64_MAX && !shell_is_restoring(v->shell))
		channel_session_send_screen(v);
}

static void channel_session_send_gap(struct session_channel *v, uint64_t to)
{
	channel_send_gap(&v->channel, v->known, to);
	v->known = to;
}

/* Sends the command if it is new to the peer. Returns whether it did. */
static bool channel_session_send_command(struct session_channel *v)
{
	enum shell_state state = shell_state(v->shell);
	struct str id = shell_command_id(v->shell);
	struct jw w;

	if ((state != SHELL_RUNNING && state != SHELL_DONE) ||
		str_eq(id, str_c(v->command)))
		return false;
	snprintf(v->command, sizeof(v->command), "%.*s", STR_ARG(id));
	channel_begin_text(&v->channel, &w, "command");
	jw_key(&w, "command_id");
	jw_str(&w, id);
	jw_key(&w, "command");
	jw_str(&w, shell_command(v->shell));
	jw_key(&w, "offset");
	jw_uint(&w, v->known);
	channel_end_text(&v->channel, &w);
	return true;
}

static bool channel_session_send_state(struct session_channel *v)
{
	const char *state = channel_session_get_state(shell_state(v->shell));
	struct jw w;

	if (state == v->sent_state)
		return false;
	v->sent_state = state;
	channel_begin_text(&v->channel, &w, "state");
	jw_key(&w, "state");
	jw_cstr(&w, state);
	channel_end_text(&v->channel, &w);
	return true;
}

/* Sends output or a gap in it. Returns whether the offset has moved. */
static bool channel_session_send_output(struct session_channel *v)
{
	uint64_t base = shell_get_dropped(v->shell), from = v->at;
	struct buf bytes = BUF_INIT(STREAM_LIVE + MARK_BODY_MAX);
	struct shell_part part = {0};
	int r = 0;

	if (v->at < base) {
		v->at = base;
		channel_session_send_gap(v, base);
		return true;
	}
	r = shell_raw(v->shell, v->at - base, STREAM_LIVE, &bytes, &part);
	if (r == 0) {
		if (part.from > part.asked)
			channel_session_send_gap(v, base + part.from);
		v->at = base + part.next;
		if (bytes.n) {
			channel_send(&v->channel, CHANNEL_OUTPUT, v->known,
				v->at - v->known, buf_view(&bytes));
			v->known = v->at;
		}
	}
	buf_free(&bytes);
	return r == 0 && v->at != from;
}

static int channel_session_send_next(struct channel *c, size_t max)
{
	struct session_channel *v = channel_session_cast(c);

	if (!v->shell) {
		channel_close(c, -1, "The session has ended.");
		return -1;
	}
	/* The first output waits until the id of its command is known. */
	if (shell_state(v->shell) == SHELL_STARTING)
		return !channel_session_send_state(v);
	if (max < STREAM_LIVE || (v->at == UINT64_MAX && shell_is_restoring(v->shell)))
		return 1;
	if (v->at == UINT64_MAX) {
		channel_session_send_screen(v);
		return 0;
	}
	return !(channel_session_send_command(v) || channel_session_send_output(v) ||
		channel_session_send_state(v));
}

static bool channel_session_is_key(struct str bytes)
{
	return bytes.n == 1 && memchr("\x03\x04\x1a\x1c", bytes.p[0], 4);
}

static void channel_session_input(struct channel *c, struct str bytes)
{
	struct session_channel *v = channel_session_cast(c);
	int r = -ESRCH;

	if (v->shell && shell_state(v->shell) == SHELL_RUNNING)
		r = channel_session_is_key(bytes)
			? shell_key(v->shell, (char)(bytes.p[0] | 0x40))
			: shell_type(v->shell, bytes);
	channel_ack_input(c, bytes.n);
	if (r == -ESRCH)
		channel_send_error(c, "No command is running that accepts input.");
	else if (r < 0)
		channel_send_error(c, "The terminal does not accept the input.");
}

static void channel_session_resize(struct channel *c, uint16_t rows, uint16_t columns)
{
	struct session_channel *v = channel_session_cast(c);

	if (!v->shell || shell_resize(v->shell, rows, columns) < 0)
		channel_send_error(
			c, "The session has no terminal whose size can be set.");
}

static void channel_session_free_memory(struct later *later)
{
	free(container_of(later, struct session_channel, later));
}

static void channel_session_free(struct channel *c)
{
	struct session_channel *v = channel_session_cast(c);

	shell_unfollow(&v->follower);
	loop_defer_free(stream_get_api(c->stream)->box->loop, &v->later,
		channel_session_free_memory);
}

const struct channel_kind channel_session = {
	.begin = channel_session_begin,
	.opened = channel_session_on_open,
	.more = channel_session_send_next,
	.input = channel_session_input,
	.resize = channel_session_resize,
	.free = channel_session_free,
};
