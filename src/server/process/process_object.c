/* The process object. */
#include "server/process/process_spec.h"

#include "base/signal_name.h"

#include <stdio.h>
#include <sys/wait.h>

static void process_object_put_text(struct jw *w, const char *key, const char *text)
{
	jw_key(w, key);
	jw_cstr(w, text);
}

static void process_object_put_signal(struct jw *w, int signo)
{
	const char *name = signal_name(signo);
	char text[24];

	snprintf(text, sizeof(text), "SIG%d", signo);
	jw_cstr(w, name ? name : text);
}

void process_write_exit(struct jw *w, const struct process *p)
{
	const struct process_exit *e = process_get_exit(p);

	jw_key(w, "exit_code");
	if (e && WIFEXITED(e->status))
		jw_int(w, WEXITSTATUS(e->status));
	else
		jw_null(w);
	jw_key(w, "signal");
	if (e && WIFSIGNALED(e->status))
		process_object_put_signal(w, WTERMSIG(e->status));
	else
		jw_null(w);
	jw_key(w, "timed_out");
	jw_bool(w, e && e->timed_out);
}

static void process_object_put_output(struct jw *w, const struct process *p, unsigned no)
{
	struct process_output o;

	process_output(p, no, &o);
	jw_object(w);
	jw_key(w, "start");
	jw_uint(w, o.start);
	jw_key(w, "end");
	jw_uint(w, o.end);
	jw_key(w, "open");
	jw_bool(w, o.open);
	jw_end(w);
}

static void process_object_put_streams(struct jw *w, const struct process *p, bool pty)
{
	struct process_stdin in;

	process_stdin(p, &in);
	jw_key(w, "stdin");
	jw_object(w);
	jw_key(w, "open");
	jw_bool(w, in.open);
	jw_key(w, "offset");
	jw_uint(w, in.offset);
	jw_end(w);
	jw_key(w, "outputs");
	jw_object(w);
	jw_key(w, pty ? "pty" : "stdout");
	process_object_put_output(w, p, PROCESS_STDOUT);
	if (!pty) {
		jw_key(w, "stderr");
		process_object_put_output(w, p, PROCESS_STDERR);
	}
	jw_end(w);
}

/* Writes the first arguments, in max bytes with their NULs. */
static void process_object_put_argv(
	struct jw *w, const struct process_info *i, size_t max)
{
	const char *at = i->argv;
	size_t n = 0, size;

	jw_key(w, "argv");
	jw_array(w);
	for (; n < i->argv_n && (size = strlen(at) + 1) <= max; n++) {
		jw_cstr(w, at);
		max -= size;
		at += size;
	}
	jw_end(w);
	if (!i->argv_truncated && n == i->argv_n)
		return;
	jw_key(w, "argv_truncated");
	jw_bool(w, true);
}

static void process_write_within(struct jw *w, const struct process *p, size_t argv_max)
{
	const struct process_exit *e = process_get_exit(p);
	struct process_info i;

	process_info(p, &i);
	jw_object(w);
	process_object_put_text(w, "id", i.id);
	process_object_put_text(w, "tag", i.tag);
	process_object_put_argv(w, &i, argv_max);
	process_object_put_text(w, "cwd", i.cwd);
	process_object_put_text(w, "user", i.user);
	jw_key(w, "pid");
	jw_int(w, i.pid);
	jw_key(w, "pty");
	jw_bool(w, i.pty);
	process_object_put_text(w, "state", e ? "exited" : "running");
	process_write_exit(w, p);
	jw_key(w, "started_at");
	jw_double(w, i.started_at);
	jw_key(w, "ended_at");
	if (e)
		jw_double(w, e->at);
	else
		jw_null(w);
	process_object_put_streams(w, p, i.pty);
	jw_end(w);
}

void process_write(struct jw *w, const struct process *p)
{
	process_write_within(w, p, PROCESS_ARGV_SHOWN);
}

void process_write_row(struct jw *w, const struct process *p)
{
	process_write_within(w, p, PROCESS_ARGV_LISTED);
}
