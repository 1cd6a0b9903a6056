/* The address and the key of a sandbox, for scripts. */
#include "inject/cli/commands.h"

#include "base/b64.h"
#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/sandbox/sandbox.h"
#include "limits.h"

#include <stdio.h>

enum { ENV_VALUE_MAX = 128 };

/* OD_TLS_PIN is the value for curl's --pinnedpubkey; empty without TLS. */
enum env_variable { OD_SANDBOX, OD_URL, OD_KEY, OD_TLS_PIN, ENV_VARIABLES };

static const char *const env_names[ENV_VARIABLES] = {
	[OD_SANDBOX] = "OD_SANDBOX",
	[OD_URL] = "OD_URL",
	[OD_KEY] = "OD_KEY",
	[OD_TLS_PIN] = "OD_TLS_PIN",
};

struct env {
	char values[ENV_VARIABLES][STATE_NAME_MAX + 1];
};

static void env_fill_values(const struct sandbox *s, struct env *v)
{
	struct buf pin = BUF_INIT(ENV_VALUE_MAX);
	const size_t room = sizeof(v->values[0]);

	if (s->state.tls) {
		buf_puts(&pin, "sha256//");
		b64_encode(&pin, str_make((const char *)s->state.pin, SHA256_LEN));
	}
	snprintf(v->values[OD_SANDBOX], room, "%s", s->state.name);
	snprintf(v->values[OD_URL], room, "http%s://127.0.0.1:%u",
		s->state.tls ? "s" : "", s->port);
	snprintf(v->values[OD_KEY], room, "%s", s->state.key);
	snprintf(v->values[OD_TLS_PIN], room, "%.*s", STR_ARG(buf_view(&pin)));
	buf_free(&pin);
}

/*
 * Writes values in single quotes; no value contains a quote, which would need escaping.
 */
static void env_append_shell(const struct env *v, struct buf *out)
{
	for (unsigned i = 0; i < ENV_VARIABLES; i++)
		if (v->values[i][0])
			buf_fmt(out, "export %s='%s'\n", env_names[i], v->values[i]);
		else
			buf_fmt(out, "unset %s\n", env_names[i]);
}

static void env_append_json(const struct env *v, struct buf *out)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	for (unsigned i = 0; i < ENV_VARIABLES; i++) {
		if (!v->values[i][0])
			continue;
		jw_key(&w, env_names[i]);
		jw_cstr(&w, v->values[i]);
	}
	jw_end(&w);
	buf_putc(out, '\n');
}

static int env_print_values(const struct command_line *line, const struct sandbox *s)
{
	struct buf out = BUF_SECRET(INJECT_TEXT_MAX);
	struct env v;
	int r;

	env_fill_values(s, &v);
	if (line->json)
		env_append_json(&v, &out);
	else
		env_append_shell(&v, &out);
	explicit_bzero(&v, sizeof(v));
	r = out_write_buf(&out);
	buf_free(&out);
	return r;
}

static int cmd_env(const struct command_line *line)
{
	struct sandbox s = {0};
	struct engine e;
	int r = engine_open(&e, line->host);

	if (!r)
		r = sandbox_open(&e, line->operand[0], &s);
	if (!r && (!s.port || e.remote))
		r = out_fail("use od-runtime exec, action or cp, which reach it through "
			     "the engine",
			"the sandbox %s has no port on this machine", s.state.name);
	if (!r)
		r = env_print_values(line, &s);
	state_wipe_key(&s.state);
	return r;
}

const struct command command_env = {
	.name = "env",
	.usage = "SANDBOX [OPTION...]",
	.purpose = "print the address and the key of a sandbox as shell commands",
	.examples = {"eval \"$(od-runtime env box)\""},
	.operands = 1,
	.subject = SUBJECT_SANDBOX,
	.run = cmd_env,
};
