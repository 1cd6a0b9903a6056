#include "inject/sandbox/process_request.h"

#include "base/jw.h"
#include "base/signal_name.h"
#include "base/utf8.h"
#include "inject/console/out.h"
#include "inject/names/state.h"

#include <errno.h>
#include <stdio.h>

/* More variables than any program has; each is compared with all later ones. */
enum { VARIABLES_MAX = 4096 };

int process_exit_code(int64_t code, struct str signal)
{
	int signo;

	/* An invalid exit code is no success. */
	if (!signal.n)
		return code < 0 || code > 255 ? 255 : (int)code;
	signo = signal_number(signal);
	return signo ? 128 + signo : 255;
}

static int process_check_text(struct str text, const char *what)
{
	if (utf8_is_valid(text))
		return 0;
	return out_fail_usage(
		"pass these bytes on stdin (-i) or in a file (od-runtime cp)",
		"%s is not UTF-8: '%.*s'", what, STR_ARG(text));
}

static int process_check_request(const struct process_request *q)
{
	int r = 0;

	for (size_t i = 0; i < q->argv_n && !r; i++)
		r = process_check_text(str_c(q->argv[i]), "an argument of the command");
	for (size_t i = 0; i < q->env_n && !r; i++)
		r = process_check_text(q->env[i], "an environment variable");
	if (!r)
		r = process_check_text(str_c(q->cwd ? q->cwd : ""), "--workdir");
	if (!r)
		r = process_check_text(str_c(q->user ? q->user : ""), "--user");
	if (!r && q->env_n > VARIABLES_MAX)
		r = out_fail_usage("write them into a file of the sandbox",
			"more than %d environment variables are given", VARIABLES_MAX);
	return r;
}

/* Whether an entry after entry i sets the variable, too. */
static bool process_has_later(const struct process_request *q, size_t i, struct str name)
{
	while (++i < q->env_n)
		if (q->env[i].n > name.n && q->env[i].p[name.n] == '=' &&
			str_starts(q->env[i], name))
			return true;
	return false;
}

static void process_write_env(const struct process_request *q, struct jw *w)
{
	jw_key(w, "env");
	jw_object(w);
	for (size_t i = 0; i < q->env_n; i++) {
		struct str value = q->env[i], name = str_cut(&value, '=');

		if (process_has_later(q, i, name))
			continue;
		jw_key_str(w, name);
		jw_str(w, value);
	}
	jw_end(w);
}

static void process_write_pty(const struct process_request *q, struct jw *w)
{
	jw_key(w, "pty");
	jw_object(w);
	jw_key(w, "rows");
	jw_uint(w, q->rows);
	jw_key(w, "columns");
	jw_uint(w, q->columns);
	jw_end(w);
}

static void process_write_text(struct jw *w, const char *member, const char *text)
{
	if (!text)
		return;
	jw_key(w, member);
	jw_cstr(w, text);
}

int process_request_write(const struct process_request *q, struct buf *out)
{
	int r = process_check_request(q);
	struct jw w;

	if (r)
		return r;
	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "argv");
	jw_array(&w);
	for (size_t i = 0; i < q->argv_n; i++)
		jw_cstr(&w, q->argv[i]);
	jw_end(&w);
	if (q->env_n)
		process_write_env(q, &w);
	process_write_text(&w, "cwd", q->cwd);
	process_write_text(&w, "user", q->user);
	if (q->pty)
		process_write_pty(q, &w);
	jw_key(&w, "stdin");
	jw_bool(&w, q->takes_stdin);
	if (q->timeout) {
		jw_key(&w, "timeout");
		jw_uint(&w, q->timeout);
	}
	process_write_text(&w, "when_full", q->detached ? "discard" : "wait");
	process_write_text(&w, "on_disconnect", q->detached ? "continue" : "kill");
	process_write_text(&w, "output", q->writes_to_log ? "log" : NULL);
	process_write_text(&w, "on_exit", q->stops_sandbox ? "stop" : NULL);
	jw_end(&w);
	return out->err;
}

int process_read_id(struct json_doc *d, struct json_val v, char id[PROCESS_NAME_MAX + 1])
{
	struct str got = json_doc_str(d, json_get(v, "id"));

	if (!state_is_name(got) || got.n > PROCESS_NAME_MAX)
		return ERR_SYNTAX;
	snprintf(id, PROCESS_NAME_MAX + 1, "%.*s", STR_ARG(got));
	return 0;
}

/* Whether argv is a single word with blanks or shell characters, meant for a shell. */
static bool process_is_shell_text(const struct process_request *q)
{
	return q->argv_n == 1 && q->argv[0][strcspn(q->argv[0], " \t\n|&;<>()$`*?'\"")];
}

static int process_not_found(const struct process_request *q)
{
	if (process_is_shell_text(q))
		out_fail("exec executes one program and its arguments; for a shell: "
			 "od-runtime exec SANDBOX sh -c 'ls -l | wc'",
			"no program named '%s' in the sandbox", q->argv[0]);
	else
		out_fail("check the spelling, or give its path; the PATH of the sandbox "
			 "is: od-runtime exec SANDBOX env",
			"no program named '%s' in the sandbox", q->argv[0]);
	return EXIT_NOT_FOUND;
}

int process_fail_start(const struct process_request *q, struct str answer)
{
	struct buf detail = BUF_INIT(4096);
	struct str reason = {0};
	struct json_doc d = {0};
	int r = FAIL_ENVIRONMENT;

	if (json_doc_parse(&d, answer) == 0) {
		reason = json_doc_str(&d, json_get(json_doc_root(&d), "reason"));
		out_clean(&detail,
			json_doc_str(&d, json_get(json_doc_root(&d), "detail")), false);
	}
	if (str_eq(reason, STR("not_found"))) {
		r = process_not_found(q);
	} else if (str_eq(reason, STR("not_executable"))) {
		out_fail("make it executable, or put its interpreter before it",
			"'%s' cannot be executed: %.*s", q->argv[0],
			STR_ARG(buf_view(&detail)));
		r = EXIT_NOT_EXECUTABLE;
	} else {
		out_fail(str_eq(reason, STR("no_rights"))
				? "the sandbox can only use the user of its server (run "
				  "--username)"
				: out_help_hint(),
			"the command was not started: %.*s", STR_ARG(buf_view(&detail)));
	}
	json_doc_free(&d);
	buf_free(&detail);
	return r;
}
