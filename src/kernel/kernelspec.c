#include "kernel/kernelspec.h"

#include "base/env.h"
#include "base/fd.h"
#include "fs/load.h"
#include "proc/which.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Bytes of kernel.json, and of one argument made of it. */
enum { KERNELSPEC_MAX = 64 << 10 };

/* --- Finding -------------------------------------------------------------------- */

static bool kernelspec_is_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		bool alnum = (c >= '0' && c <= '9') ||
			((c | 0x20) >= 'a' && (c | 0x20) <= 'z');

		if (!alnum && !memchr("-._", c, 3))
			return false;
	}
	return name.n > 0 && name.n <= KERNELSPEC_NAME_MAX && name.p[0] != '.';
}

/* Opens FOLDER/SUB/kernels/NAME/kernel.json; relative folders are ignored. */
static int kernelspec_open_at(struct str folder, const char *sub, struct str name,
	struct kernelspec *out, struct stat *st)
{
	char path[FILE_PATH_MAX];
	int n;

	if (!str_starts(folder, STR("/")))
		return -ENOENT;
	n = snprintf(out->folder, sizeof(out->folder), "%.*s%s/kernels/%.*s",
		STR_ARG(folder), sub, STR_ARG(name));
	if (n < 0 || (size_t)n >= sizeof(out->folder))
		return -ENAMETOOLONG;
	n = snprintf(path, sizeof(path), "%s/kernel.json", out->folder);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	return load_open(AT_FDCWD, path, O_RDONLY, st);
}

static int kernelspec_open(const struct kernelspec_places *p, struct str name,
	struct kernelspec *out, struct stat *st)
{
	const char *data = env_find(p->env, STR("JUPYTER_DATA_DIR"));
	const struct {
		struct str folder;
		const char *sub;
	} places[] = {
		{str_c(data), ""},
		{str_c(data ? NULL : env_find(p->env, STR("HOME"))),
			"/.local/share/jupyter"},
		{str_c(p->prefix), "/share/jupyter"},
		{STR("/usr/local/share/jupyter"), ""},
		{STR("/usr/share/jupyter"), ""},
	};
	struct str list = str_c(env_find(p->env, STR("JUPYTER_PATH")));
	int fd = -ENOENT;

	while (fd < 0 && list.n > 0)
		fd = kernelspec_open_at(str_cut(&list, ':'), "", name, out, st);
	for (size_t i = 0; fd < 0 && i < ARRAY_LEN(places); i++)
		fd = kernelspec_open_at(places[i].folder, places[i].sub, name, out, st);
	return fd;
}

/* --- Reading -------------------------------------------------------------------- */

static int kernelspec_load(int fd, struct arena *a, struct str *text)
{
	struct buf b = BUF_INIT(KERNELSPEC_MAX);
	int r = load_read_part(fd, 0, KERNELSPEC_MAX, &b);
	char *copy = r ? NULL : arena_cstr(a, buf_view(&b));

	if (!r && !copy)
		r = -ENOMEM;
	if (!r)
		*text = str_make(copy, b.n);
	buf_free(&b);
	return r;
}

/* Reads a member that is a string, decoded; empty if it is missing. */
static int kernelspec_get_string(
	struct json_val root, const char *key, struct arena *a, struct str *out)
{
	struct json_val v = json_get(root, key);

	*out = STR("");
	return json_type(v) == JSON_ABSENT ? 0 : json_str(v, a, out);
}

/* Whether all values are strings without NUL. */
static bool kernelspec_has_strings(struct json_val container, struct arena *a)
{
	struct json_val v;
	struct str s;
	int it = 0;

	while (json_next(container, &it, NULL, &v))
		if (json_str(v, a, &s) || str_find_byte(s, '\0') < s.n)
			return false;
	return true;
}

static bool kernelspec_is_env(struct json_val env, struct arena *a)
{
	struct json_val key, v;
	struct str name;
	int it = 0;

	while (json_next(env, &it, &key, &v))
		if (json_str(key, a, &name) || name.n == 0 ||
			memchr(name.p, '=', name.n) || memchr(name.p, '\0', name.n))
			return false;
	return true;
}

static int kernelspec_read(
	struct json_val root, struct arena *a, struct kernelspec *k, const char **why)
{
	struct str mode;

	*why = "a text in kernel.json is none";
	if (kernelspec_get_string(root, "display_name", a, &k->display) ||
		kernelspec_get_string(root, "language", a, &k->language) ||
		kernelspec_get_string(root, "interrupt_mode", a, &mode))
		return ERR_TYPE;
	k->argv = json_get(root, "argv");
	k->env = json_get(root, "env");
	*why = "argv of kernel.json is no list of texts";
	if (json_type(k->argv) != JSON_ARRAY || !json_count(k->argv) ||
		!kernelspec_has_strings(k->argv, a))
		return ERR_TYPE;
	*why = "env of kernel.json is no object of texts";
	if (json_type(k->env) != JSON_ABSENT &&
		(json_type(k->env) != JSON_OBJECT || !kernelspec_has_strings(k->env, a) ||
			!kernelspec_is_env(k->env, a)))
		return ERR_TYPE;
	k->by_message = str_eq(mode, STR("message"));
	/* Not all other kernels support unix sockets, and some end silently. */
	k->by_ipc = str_eq_nocase(k->language, STR("python")) ||
		str_eq_nocase(k->language, STR("R"));
	return 0;
}

static int kernelspec_parse(
	struct str text, struct arena *a, struct json_val *root, const char **why)
{
	static const struct json_caps caps = {
		JSON_DEPTH_MAX, JSON_TOKENS_MAX, JSON_KEYS_MAX};
	struct json *j = arena_alloc(a, sizeof(*j));
	struct json_error e = {0, "there is no memory for kernel.json"};
	int r = j ? json_parse(j, text, &caps, a, &e) : -ENOMEM;

	*why = e.why;
	if (!r)
		*root = json_root(j);
	return r;
}

int kernelspec_python(const char *prefix, struct arena *a, struct kernelspec *out)
{
	static const char text[] =
		"{\"argv\":[\"{prefix}/bin/python3\",\"-m\",\"ipykernel_launcher\","
		"\"-f\",\"{connection_file}\"],\"display_name\":\"Python 3\","
		"\"language\":\"python\"}";
	struct kernelspec k = {.prefix = prefix, .name = STR("python3")};
	struct json_val root;
	const char *why;
	int r = kernelspec_parse(STR(text), a, &root, &why);

	r = r ? r : kernelspec_read(root, a, &k, &why);
	if (!r)
		*out = k;
	return r;
}

int kernelspec_find(const struct kernelspec_places *p, struct str name, struct arena *a,
	struct kernelspec *out, const char **why)
{
	struct kernelspec k = {.prefix = p->prefix ? p->prefix : ""};
	struct json_val root;
	struct stat st;
	struct str text;
	char *copy;
	int r, fd;

	*why = "a kernel cannot have that name";
	if (!kernelspec_is_name(name))
		return -EINVAL;
	*why = "there is no kernel of that name";
	fd = kernelspec_open(p, name, &k, &st);
	if (fd < 0)
		return fd;
	*why = "kernel.json cannot be read";
	r = kernelspec_load(fd, a, &text);
	fd_close(&fd);
	r = r ? r : kernelspec_parse(text, a, &root, why);
	r = r ? r : kernelspec_read(root, a, &k, why);
	copy = r ? NULL : arena_cstr(a, name);
	if (!r && !copy)
		r = -ENOMEM;
	k.name = str_make(copy, name.n);
	if (!r)
		*out = k;
	return r;
}

/* --- What is executed ----------------------------------------------------------- */

/* Replaces the placeholders in braces in one argument; an unknown name is kept. */
static void kernelspec_expand(
	struct str s, const char *const values[][2], struct buf *out)
{
	while (s.n > 0) {
		size_t n = str_find_byte(s, '{'), i = 0;

		buf_str(out, str_make(s.p, n));
		s = str_skip(s, n);
		while (values[i][0] && !str_starts(s, str_c(values[i][0])))
			i++;
		if (values[i][0])
			buf_puts(out, values[i][1]);
		else
			buf_str(out, str_make(s.p, s.n > 0));
		s = str_skip(s, values[i][0] ? strlen(values[i][0]) : 1);
	}
}

/*
 * A name with a slash is used unchanged, others are searched on the PATH; NULL: not
 * found, or out of memory.
 */
static const char *kernelspec_find_program(
	const char *name, const char *const *env, struct arena *a)
{
	char full[FILE_PATH_MAX];

	if (which_find(name, env_find(env, STR("PATH")), full) < 0)
		return NULL;
	return arena_cstr(a, str_c(full));
}

int kernelspec_argv(const struct kernelspec *k, const char *const *env,
	const char *connection_file, struct arena *a, const char *const **out)
{
	const char *const values[][2] = {
		{"{connection_file}", connection_file},
		{"{resource_dir}", k->folder},
		{"{prefix}", k->prefix},
		{NULL, NULL},
	};
	const char **argv = arena_array(a, json_count(k->argv) + 1, sizeof(*argv));
	struct buf b = BUF_INIT(KERNELSPEC_MAX);
	struct json_val v;
	struct str s;
	size_t n = 0;
	int it = 0, r = argv ? 0 : -ENOMEM;

	while (!r && json_next(k->argv, &it, NULL, &v)) {
		buf_reset(&b);
		r = json_str(v, a, &s);
		if (!r)
			kernelspec_expand(s, values, &b);
		r = r ? r : b.err;
		if (!r && !(argv[n++] = arena_cstr(a, buf_view(&b))))
			r = -ENOMEM;
	}
	buf_free(&b);
	if (!r && !(argv[0] = kernelspec_find_program(argv[0], env, a)))
		r = -ENOENT;
	if (!r)
		*out = argv;
	return r;
}

/*
 * Writes NAME=value with each ${NAME} in the value replaced; variables missing in env
 * are empty.
 */
static void kernelspec_put_variable(
	struct str name, struct str s, const char *const *env, struct buf *out)
{
	buf_str(out, name);
	buf_putc(out, '=');
	while (s.n > 0) {
		size_t n = str_find(s, STR("${"));
		struct str rest = str_skip(s, n + 2);
		size_t close = str_find_byte(rest, '}');

		if (close == rest.n) {
			buf_str(out, s);
			return;
		}
		buf_str(out, str_make(s.p, n));
		buf_puts(out, env_find(env, str_make(rest.p, close)) ?: "");
		s = str_skip(rest, close + 1);
	}
}

int kernelspec_env(const struct kernelspec *k, const char *const *env, const char *more,
	struct arena *a, const char *const **out)
{
	struct buf b = BUF_INIT(KERNELSPEC_MAX);
	struct json_val key, v;
	struct str name, value;
	const char **made, *variable;
	int it = 0, r = 0;

	made = env_copy(env, json_count(k->env) + 1, a);
	if (!made)
		return -ENOMEM;
	while (!r && json_next(k->env, &it, &key, &v)) {
		buf_reset(&b);
		r = json_str(key, a, &name);
		r = r ? r : json_str(v, a, &value);
		if (r)
			break;
		kernelspec_put_variable(name, value, env, &b);
		variable = b.err ? NULL : arena_cstr(a, buf_view(&b));
		if (variable)
			env_put(made, variable);
		else
			r = -ENOMEM;
	}
	if (!r && more) {
		variable = arena_cstr(a, str_c(more));
		if (variable)
			env_put(made, variable);
		else
			r = -ENOMEM;
	}
	buf_free(&b);
	if (!r)
		*out = made;
	return r;
}
