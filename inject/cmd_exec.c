#include "inject/cmd_exec.h"

#include "base/clock.h"
#include "inject/commands.h"
#include "inject/observation.h"
#include "inject/out.h"
#include "inject/stop.h"
#include "limits.h"

#include <errno.h>
#include <unistd.h>

/*
 * How much longer than its action a request may take: with the action's own timeout, and
 * with --timeout, which the sandbox applies itself.
 */
enum { GRACE_MS = 30000, ANSWER_MS = 2000 };

static int no_observation(const struct sandbox *s)
{
	return out_fail("its client may be of another version; rm and run again",
		"the sandbox %s answers with something that is no observation",
		s->state.name);
}

static int put_line(int fd, struct str text)
{
	int r = out_text(fd, text);

	return r ? r : out_text(fd, STR("\n"));
}

/* The next step while a command is still running in the sandbox. */
#define NEXT_INTERRUPT \
	"interrupt it: od-runtime action SANDBOX " \
	"'{\"action\":\"run\",\"args\":{\"command\":\"C-c\",\"is_input\":true}}'"

/* Bracketed remarks of the server, such as that output was cut. */
static int put_remark(struct str remark)
{
	remark = str_trim(remark, "\n");
	return remark.n ? put_line(STDERR_FILENO, remark) : 0;
}

static int exit_code(const struct options *o, const struct observation *ob)
{
	const char *next =
		o->remove ? "give it more time with --timeout" : NEXT_INTERRUPT;
	struct str timed_out = STR("[The command timed out");
	struct str refused = STR("is NOT executed");

	if (ob->exit_code >= 0)
		return (int)(ob->exit_code & 255);
	if (o->timeout && str_find(ob->suffix, timed_out) < ob->suffix.n) {
		out_fail(next, "the command has not ended within --timeout %llu",
			(unsigned long long)o->timeout);
		return EXIT_TIMEOUT;
	}
	if (str_find(ob->suffix, refused) < ob->suffix.n)
		return out_fail(next,
			"the command was not executed: an earlier one is "
			"still running in the sandbox's shell");
	return out_fail(next, "the command has not ended");
}

static int show_run(const struct options *o, const struct observation *ob)
{
	int r = 0;

	if (!str_eq(ob->kind, STR("run")))
		return out_fail("od-runtime logs shows what its server says",
			"the sandbox: %.*s", STR_ARG(ob->content));
	if (!o->json) {
		if (ob->content.n)
			r = put_line(STDOUT_FILENO, ob->content);
		if (!r)
			r = put_remark(ob->prefix);
		if (!r && observation_is_remarkable(ob))
			r = put_remark(ob->suffix);
	}
	return r ? r : exit_code(o, ob);
}

static int put_raw(const struct reply *reply)
{
	int r = out_text(STDOUT_FILENO, buf_view(&reply->body));

	return r ? r : out_text(STDOUT_FILENO, STR("\n"));
}

void exec_limit(const struct options *o)
{
	if (o->timeout)
		stop_set_limit(clock_ms() + o->timeout * 1000 + ANSWER_MS);
}

int exec_words(const struct options *o, const struct sandbox *s)
{
	struct buf request = BUF_INIT(INJECT_REPLY_MAX);
	struct observation ob = {0};
	struct reply reply;
	int r;

	reply_init(&reply);
	observation_request_run(
		o->words, o->word_n, o->timeout ? o->timeout : SECONDS_MAX, &request);
	r = request.err;
	if (!r)
		r = sandbox_act(s, buf_view(&request), 0, &reply);
	if (!r && observation_read(&ob, buf_view(&reply.body)))
		r = no_observation(s);
	if (!r && o->json)
		r = put_raw(&reply);
	if (!r)
		r = show_run(o, &ob);
	observation_free(&ob);
	reply_free(&reply);
	buf_free(&request);
	return r;
}

int cmd_exec(const struct options *o)
{
	struct sandbox s;
	struct engine e;
	int r;

	exec_limit(o);
	r = engine_open(&e, o->host);
	if (!r)
		r = sandbox_open(&e, o->operand[0], &s);
	if (r)
		return r;
	r = exec_words(o, &s);
	state_forget(&s.state);
	return r;
}

static int read_stdin(struct buf *out)
{
	for (;;) {
		char *room = buf_room(out, 4096);
		ssize_t got;

		if (!room)
			return out->err;
		got = read(STDIN_FILENO, room, 4096);
		if (got > 0)
			buf_commit(out, (size_t)got);
		else if (got == 0)
			return 0;
		else
			return -errno;
	}
}

static int make_request(const char *operand, struct buf *request)
{
	struct buf in = BUF_INIT(INJECT_REPLY_MAX);
	int r = 0;

	if (strcmp(operand, "-") == 0)
		r = read_stdin(&in);
	else
		buf_puts(&in, operand);
	if (!r)
		r = in.err;
	if (!r) {
		r = observation_request(buf_view(&in), request);
		if (r && r != -ENOMEM)
			r = out_fail_usage(
				"{\"action\":\"run\",\"args\":{\"command\":\"ls\"}}",
				"not an action in JSON: %s", err_text(r));
	}
	buf_free(&in);
	return r;
}

static int show_action(
	const struct options *o, const struct sandbox *s, const struct reply *reply)
{
	struct buf out = BUF_INIT(2 * (size_t)INJECT_REPLY_MAX);
	struct observation ob;
	int r = observation_read(&ob, buf_view(&reply->body));

	if (r)
		return no_observation(s);
	if (o->json) {
		r = put_raw(reply);
	} else {
		observation_print(&ob, &out);
		r = out.err ? out.err : out_text(STDOUT_FILENO, buf_view(&out));
	}
	observation_free(&ob);
	buf_free(&out);
	return r;
}

int cmd_action(const struct options *o)
{
	struct buf request = BUF_INIT(INJECT_REPLY_MAX);
	struct reply reply;
	struct sandbox s = {0};
	struct engine e;
	uint64_t own, ms = 0;
	int r = make_request(o->operand[1], &request);

	own = r || o->timeout ? 0 : observation_timeout(buf_view(&request));
	if (own)
		ms = own * 1000 + GRACE_MS;
	if (o->timeout)
		stop_set_limit(clock_ms() + o->timeout * 1000);
	reply_init(&reply);
	if (!r)
		r = engine_open(&e, o->host);
	if (!r)
		r = sandbox_open(&e, o->operand[0], &s);
	if (!r)
		r = sandbox_act(&s, buf_view(&request),
			ms > UINT32_MAX ? 0 : (uint32_t)ms, &reply);
	if (!r)
		r = show_action(o, &s, &reply);
	state_forget(&s.state);
	reply_free(&reply);
	buf_free(&request);
	return r;
}
