#include "inject/cli/exec/exec.h"

#include "base/b64.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/jw.h"
#include "base/utf8.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/console/terminal.h"
#include "inject/options/options_rows.h"
#include "inject/sandbox/attachment.h"
#include "inject/sandbox/process_forget.h"
#include "limits.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* The sandbox applies --timeout and has this much additional time to answer. */
enum { ANSWER_MS = 2000 };

struct exec {
	const struct exec_command *command;
	struct process_request request;
	struct attachment attachment;
	struct buf text[ATTACHMENT_OUTPUTS]; /* with --json */
	struct terminal terminal;
};

int exec_check_terminal(const struct terminal_options *o, size_t argc)
{
	if (o->interactive && o->tty && !o->detach && !isatty(STDIN_FILENO))
		return out_fail_usage("leave -t out if stdin is a pipe or a file",
			"-i -t needs a terminal, and stdin is not one");
	if ((o->interactive || o->tty) && !argc)
		return out_fail_usage(
			"give a command, such as: od-runtime run -it debian bash",
			"-i and -t need a command");
	return 0;
}

void exec_set_limit(const struct timeout_options *o)
{
	timeout_begin(o, ANSWER_MS);
}

static void exec_init_request(struct exec *x)
{
	const struct exec_command *c = x->command;
	struct process_request *q = &x->request;

	*q = (struct process_request){
		.argv = c->argv,
		.argv_n = c->argc,
		.pty = c->terminal.tty,
		.takes_stdin = c->terminal.interactive && !c->terminal.detach,
		.detached = c->terminal.detach,
		.writes_to_log = c->starts_sandbox,
		.stops_sandbox = c->stops_sandbox,
		.timeout = c->timeout->timeout,
		.cwd = c->working_dir,
		.user = c->user,
	};
	if (c->settings) {
		q->env = c->settings->env;
		q->env_n = c->settings->env_n;
	}
	terminal_get_size(&q->rows, &q->columns);
}

static void exec_open_outlets(struct exec *x)
{
	static const int fds[ATTACHMENT_OUTPUTS] = {STDOUT_FILENO, STDERR_FILENO};

	for (unsigned i = 0; i < ATTACHMENT_OUTPUTS; i++) {
		x->text[i] = (struct buf)BUF_INIT(INJECT_REPLY_MAX);
		if (x->command->json)
			outlet_open_text(&x->attachment.out[i], &x->text[i]);
		else
			outlet_open(&x->attachment.out[i], fds[i]);
	}
}

/* Bytes that are not UTF-8 have a member of their own. */
static void exec_append_output(
	struct jw *w, const char *name, const char *name_b64, const struct buf *bytes)
{
	struct buf b64 = BUF_INIT(2 * (size_t)INJECT_REPLY_MAX);
	bool text = utf8_is_valid(buf_view(bytes));

	jw_key(w, text ? name : name_b64);
	if (!text)
		b64_encode(&b64, buf_view(bytes));
	jw_str(w, text ? buf_view(bytes) : buf_view(&b64));
	if (b64.err)
		w->out->err = b64.err;
	buf_free(&b64);
}

static int exec_print_result(const struct exec *x)
{
	const struct attachment_exit *end = &x->attachment.end;
	struct buf out = BUF_INIT(8 * (size_t)INJECT_REPLY_MAX);
	struct jw w;

	jw_init(&w, &out);
	jw_object(&w);
	if (x->request.detached) {
		jw_key(&w, "process");
		jw_cstr(&w, x->attachment.id);
	} else {
		jw_key(&w, "exit_code");
		jw_int(&w, end->code);
		jw_key(&w, "timed_out");
		jw_bool(&w, end->timed_out);
		exec_append_output(&w, "stdout", "stdout_base64", &x->text[0]);
		exec_append_output(&w, "stderr", "stderr_base64", &x->text[1]);
	}
	jw_end(&w);
	return out_write_line(&out);
}

/* Sets the user's terminal to raw mode, so that the sandbox receives all keys. */
static int exec_set_terminal(struct exec *x)
{
	const struct process_request *q = &x->request;
	int r = q->pty ? stop_watch_size() : 0;

	if (!r && q->pty && q->takes_stdin)
		r = terminal_set_raw(&x->terminal);
	return r ? out_fail("leave -t out", "cannot set up the terminal: %s", err_text(r))
		 : 0;
}

static int exec_fail_timeout(const struct exec *x)
{
	out_fail("give a longer --timeout, or leave it out",
		"the command did not end within --timeout %s and was killed",
		x->command->timeout->timeout_text);
	return EXIT_TIMEOUT;
}

/* Removes a process whose kept output takes much memory of the sandbox. */
static void exec_clean_process(struct exec *x, const struct sandbox *s, int r)
{
	const struct attachment *a = &x->attachment;

	if (r == -EPIPE || (r == 0 && a->leave_signal && clock_ms() >= a->leave_at))
		process_discard(s, a->id);
	else if (r == 0 && a->got[0] + a->got[1] >= PROCESS_FORGET_MIN)
		process_remove_exited(s, a->id);
}

static int exec_run_process(struct exec *x, const struct sandbox *s)
{
	struct attachment *a = &x->attachment;
	int r = attachment_start(a, s, &x->request);

	if (r || x->request.detached)
		return r;
	r = exec_set_terminal(x);
	if (!r)
		r = attachment_run(a);
	terminal_restore(&x->terminal);
	exec_clean_process(x, s, r);
	/* As the exit code of a command that itself writes to a closed pipe. */
	if (r == -EPIPE)
		return 128 + SIGPIPE;
	return r;
}

int exec_run_argv(const struct exec_command *c, const struct sandbox *s)
{
	struct exec x = {.command = c};
	int r;

	exec_init_request(&x);
	exec_open_outlets(&x);
	r = exec_run_process(&x, s);
	if (!r && c->json)
		r = exec_print_result(&x);
	if (!r && x.attachment.end.timed_out)
		r = exec_fail_timeout(&x);
	else if (!r)
		r = x.attachment.end.code;
	attachment_close(&x.attachment);
	for (unsigned i = 0; i < ATTACHMENT_OUTPUTS; i++) {
		outlet_close(&x.attachment.out[i]);
		buf_free(&x.text[i]);
	}
	return r;
}

#define OPTIONS struct terminal_options
static const struct option terminal_options[] = {
	{"interactive", NULL,
		"pass stdin to CMD; without this option, CMD reads an empty stdin", FLAG,
		.letter = 'i', AT(interactive), GROUP(COMMAND)},
	{"tty", NULL,
		"allocate a terminal of the size of this one for CMD; interactive "
		"programs need -it",
		FLAG, .letter = 't', AT(tty), GROUP(COMMAND)},
	{0},
};
#undef OPTIONS

const struct option_set terminal_set = {.options = terminal_options};
