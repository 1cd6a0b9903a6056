#include "server/process/process_spec.h"

#include "base/signal_name.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

enum {
	SPEC_TOKENS = 100000, /* 20 bytes each in the index: 2 MB */
	SPEC_KEYS = 4096,     /* variables of an environment */
	SPEC_USER = 256,      /* a name and a group; Linux has names of 32 letters */
};

static const char nul_text[] = "it must be a string without NUL bytes";

int process_spec_parse(struct params *p, struct str text)
{
	static const struct json_caps caps = {
		.depth = JSON_DEPTH_MAX,
		.tokens = SPEC_TOKENS,
		.keys = SPEC_KEYS,
	};

	return params_parse_limited(p, text, &caps);
}

static int process_spec_set_nomem(struct params *p)
{
	snprintf(p->error, sizeof(p->error), "out of memory");
	return 503;
}

/* Copies a string value as a C string into the arena. */
static int process_spec_read_text(
	struct params *p, const char *name, struct json_val v, char **out)
{
	struct str text;
	int r = json_str(v, p->arena, &text);

	if (r == -ENOMEM)
		return process_spec_set_nomem(p);
	if (r || str_find_byte(text, '\0') < text.n)
		return params_set_error(p, name, nul_text);
	*out = arena_cstr(p->arena, text);
	return *out ? 0 : process_spec_set_nomem(p);
}

/* --- Members --------------------------------------------------------------- */

static int process_spec_read_argv(struct params *p, struct process_spec *out)
{
	struct json_val list = json_get(p->body, "argv"), v;
	size_t n = json_count(list);
	const char **argv;
	int it = 0, r = 0;

	if (json_type(list) != JSON_ARRAY || !n)
		return params_set_error(
			p, "argv", "it must be a list of at least one string");
	out->argv = argv = arena_array(p->arena, n + 1, sizeof(*argv));
	if (!argv)
		return process_spec_set_nomem(p);
	for (size_t i = 0; r == 0 && json_next(list, &it, NULL, &v); i++) {
		char *text = NULL;

		r = process_spec_read_text(p, "argv", v, &text);
		argv[i] = text;
	}
	return r;
}

/* Whether the entry "NAME=VALUE" sets the variable name. */
static bool process_spec_is_variable(const char *entry, struct str name)
{
	/* strlen(entry) is avoided, since the entry may have megabytes. */
	return strncmp(entry, name.p, name.n) == 0 && entry[name.n] == '=';
}

/* The environment of a request: first the base_n entries of the sandbox. */
struct env {
	const char **entries;
	size_t n, base_n;
};

/*
 * Puts NAME=VALUE in place of the entry with that name, or after the last. Names of a
 * request are unique, so only the entries of the sandbox can have it. Without value the
 * entry is emptied.
 */
static int process_spec_put_variable(
	struct params *p, struct env *env, struct str name, const char *value)
{
	size_t size = name.n + (value ? strlen(value) : 0) + 2, at = 0;
	char *entry;

	while (at < env->base_n && !process_spec_is_variable(env->entries[at], name))
		at++;
	if (!value) {
		if (at < env->base_n)
			env->entries[at] = "";
		return 0;
	}
	entry = arena_alloc(p->arena, size);
	if (!entry)
		return process_spec_set_nomem(p);
	snprintf(entry, size, "%.*s=%s", STR_ARG(name), value);
	env->entries[at < env->base_n ? at : env->n++] = entry;
	return 0;
}

/* Removes the empty entries. */
static void process_spec_pack_env(struct env *env)
{
	size_t kept = 0;

	for (size_t i = 0; i < env->n; i++)
		if (env->entries[i][0])
			env->entries[kept++] = env->entries[i];
	env->entries[kept] = NULL;
}

static int process_spec_read_variable(
	struct params *p, struct env *env, struct json_val k, struct json_val v)
{
	struct str name;
	char *value = NULL;
	int r = json_str(k, p->arena, &name);

	if (r)
		return process_spec_set_nomem(p);
	if (!name.n || str_find_byte(name, '=') < name.n ||
		str_find_byte(name, '\0') < name.n)
		return params_set_error(
			p, "env", "a name must not be empty or contain = or NUL");
	r = json_type(v) == JSON_NULL ? 0 : process_spec_read_text(p, "env", v, &value);
	return r ? r : process_spec_put_variable(p, env, name, value);
}

/* Applies the variables of the request to the environment of the sandbox. */
static int process_spec_read_env(
	struct params *p, const char *const *base, struct process_spec *out)
{
	struct json_val object = json_get(p->body, "env"), k, v;
	struct env env = {.n = 0};
	int it = 0, r = 0;

	while (base[env.n])
		env.n++;
	env.base_n = env.n;
	env.entries = arena_array(
		p->arena, env.n + json_count(object) + 1, sizeof(*env.entries));
	if (!env.entries)
		return process_spec_set_nomem(p);
	out->env = env.entries;
	memcpy(env.entries, base, env.n * sizeof(*env.entries));
	out->defaults = base;
	if (json_type(object) == JSON_ABSENT || json_type(object) == JSON_NULL)
		return 0;
	if (json_type(object) != JSON_OBJECT)
		return params_set_error(p, "env", "it must be an object");
	while (r == 0 && json_next(object, &it, &k, &v))
		r = process_spec_read_variable(p, &env, k, v);
	process_spec_pack_env(&env);
	return r;
}

struct size_params {
	uint64_t rows, columns;
};

int process_size_read(struct params *p, uint16_t *rows, uint16_t *columns)
{
	static const struct param table[] = {
		{"rows", PARAM_NUMBER, .at = offsetof(struct size_params, rows), .min = 1,
			.max = STREAM_SIZE_MAX, .required = true},
		{"columns", PARAM_NUMBER, .at = offsetof(struct size_params, columns),
			.min = 1, .max = STREAM_SIZE_MAX, .required = true},
	};
	struct size_params size;
	int r = params_read(p, table, ARRAY_LEN(table), &size);

	if (r)
		return r;
	*rows = (uint16_t)size.rows;
	*columns = (uint16_t)size.columns;
	return 0;
}

static int process_spec_read_pty(struct params *p, struct process_spec *out)
{
	struct params inner = *p;
	int r;

	inner.body = json_get(p->body, "pty");
	if (json_type(inner.body) == JSON_ABSENT || json_type(inner.body) == JSON_NULL)
		return 0;
	if (json_type(inner.body) != JSON_OBJECT)
		return params_set_error(
			p, "pty", "it must be an object with rows and columns");
	if (out->writes_to_log)
		return params_set_error(
			p, "output", "the output of a pty cannot be written to the log");
	out->pty = true;
	r = process_size_read(&inner, &out->rows, &out->columns);
	if (r)
		memcpy(p->error, inner.error, sizeof(p->error));
	return r;
}

static int process_spec_read_timeout(struct params *p, struct process_spec *out)
{
	struct json_val v = json_get(p->body, "timeout");
	double seconds;

	if (json_type(v) == JSON_ABSENT || json_type(v) == JSON_NULL)
		return 0;
	if (json_double(v, &seconds) || seconds < 0 || seconds > PROCESS_TIMEOUT_MAX_S)
		return params_set_error(p, "timeout",
			"it must be a number of seconds from 0 "
			"(none) to 2592000");
	out->timeout_ms = (uint64_t)(seconds * 1000);
	if (seconds > 0 && !out->timeout_ms)
		out->timeout_ms = 1;
	return 0;
}

/* --- Scalars --------------------------------------------------------------- */

struct scalars {
	struct str cwd, user, tag;
	bool takes_stdin;
	unsigned when_full, on_disconnect, output, on_exit;
	uint64_t output_limit;
};

static int process_spec_copy_text(
	struct params *p, const char *name, struct str text, const char **out)
{
	if (!text.n)
		return 0;
	if (str_find_byte(text, '\0') < text.n)
		return params_set_error(p, name, nul_text);
	*out = arena_cstr(p->arena, text);
	return *out ? 0 : process_spec_set_nomem(p);
}

static int process_spec_read_scalars(struct params *p, struct process_spec *out)
{
	static const char *const full[] = {"discard", "wait", NULL};
	static const char *const disconnect[] = {"continue", "kill", NULL};
	static const char *const output[] = {"keep", "log", NULL};
	static const char *const on_exit[] = {"continue", "stop", NULL};
	static const struct param table[] = {
		{"cwd", PARAM_TEXT, .at = offsetof(struct scalars, cwd)},
		{"user", PARAM_TEXT, .at = offsetof(struct scalars, user)},
		{"tag", PARAM_TEXT, .at = offsetof(struct scalars, tag)},
		{"stdin", PARAM_BOOL, .at = offsetof(struct scalars, takes_stdin)},
		{"when_full", PARAM_CHOICE, .at = offsetof(struct scalars, when_full),
			.words = full},
		{"on_disconnect", PARAM_CHOICE,
			.at = offsetof(struct scalars, on_disconnect),
			.words = disconnect},
		{"output", PARAM_CHOICE, .at = offsetof(struct scalars, output),
			.words = output},
		{"on_exit", PARAM_CHOICE, .at = offsetof(struct scalars, on_exit),
			.words = on_exit},
		{"output_limit", PARAM_NUMBER,
			.at = offsetof(struct scalars, output_limit),
			.min = PROCESS_OUTPUT_MIN, .max = PROCESS_OUTPUT_MAX},
	};
	struct scalars s = {.output_limit = PROCESS_OUTPUT_DEFAULT};
	int r = params_read(p, table, ARRAY_LEN(table), &s);

	if (r == 0 && s.cwd.n && s.cwd.p[0] != '/')
		r = params_set_error(p, "cwd", "it must be an absolute path");
	if (r == 0 && s.cwd.n >= FILE_PATH_MAX)
		r = params_set_error(p, "cwd", "it is longer than any path");
	if (r == 0 && s.user.n > SPEC_USER)
		r = params_set_error(p, "user", "it must have 256 bytes at most");
	if (r == 0 && s.tag.n > PROCESS_TAG_MAX)
		r = params_set_error(p, "tag", "it must have 64 bytes at most");
	if (r == 0)
		r = process_spec_copy_text(p, "cwd", s.cwd, &out->cwd);
	if (r == 0)
		r = process_spec_copy_text(p, "user", s.user, &out->user);
	if (r == 0)
		r = process_spec_copy_text(p, "tag", s.tag, &out->tag);
	out->takes_stdin = s.takes_stdin;
	out->wait_when_full = s.when_full;
	out->kill_on_disconnect = s.on_disconnect;
	out->writes_to_log = s.output;
	out->stops_sandbox = s.on_exit;
	out->output_limit = s.output_limit;
	return r;
}

int process_spec_read(struct params *p, const char *const *env, struct process_spec *out)
{
	int r;

	*out = (struct process_spec){0};
	r = process_spec_read_scalars(p, out);
	if (r == 0)
		r = process_spec_read_argv(p, out);
	if (r == 0)
		r = process_spec_read_env(p, env, out);
	if (r == 0)
		r = process_spec_read_pty(p, out);
	return r ? r : process_spec_read_timeout(p, out);
}

/* --- Signals --------------------------------------------------------------- */

int process_signal_read(struct json_val v)
{
	return signal_number(
		json_type(v) == JSON_STRING ? json_raw_content(v) : json_raw(v));
}
