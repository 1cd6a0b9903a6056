#include "plugin/manifest.h"

#include "base/json.h"
#include "limits.h"

#include <errno.h>

enum { PROTOCOL = 1, SECONDS_MAX = 86400 };

/* State of the parser. r is the first error. */
struct reading {
	struct plugin_manifest *m;
	struct str name;
	struct arena *arena;
	struct buf *why;
	int r;
};

static const char name_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789_-.";
static const char action_chars[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

static bool manifest_has_only(struct str s, const char *chars)
{
	for (size_t i = 0; i < s.n; i++)
		if (!s.p[i] || !strchr(chars, s.p[i]))
			return false;
	return s.n > 0;
}

bool manifest_is_name(struct str name)
{
	return name.n <= PLUGIN_NAME_MAX && manifest_has_only(name, name_chars) &&
		name.p[0] != '.' && name.p[0] != '-';
}

static void manifest_set_error(
	struct reading *d, const char *key, size_t at, const char *what)
{
	if (d->r)
		return;
	d->r = ERR_SYNTAX;
	buf_puts(d->why, key);
	if (at)
		buf_fmt(d->why, "[%zu]", at - 1);
	buf_fmt(d->why, ": %s", what);
}

/* at is the index in a list plus one; 0: no list. NULL after an error. */
static const char *manifest_get_string(
	struct reading *d, const char *key, size_t at, struct json_val v)
{
	struct str s;
	char *c;

	if (d->r)
		return NULL;
	if (json_type(v) != JSON_STRING) {
		manifest_set_error(d, key, at, "must be a string");
		return NULL;
	}
	d->r = json_str(v, d->arena, &s);
	if (d->r)
		return NULL;
	if (str_find_byte(s, '\0') < s.n) {
		manifest_set_error(d, key, at, "contains a NUL byte");
		return NULL;
	}
	c = arena_cstr(d->arena, s);
	d->r = c ? 0 : -ENOMEM;
	return c;
}

static const char **manifest_get_list(
	struct reading *d, const char *key, struct json_val v, size_t most, size_t *n)
{
	const char **list = arena_array(d->arena, most + 1, sizeof(*list));
	struct json_val item;
	int it = 0;

	*n = 0;
	if (!list) {
		d->r = d->r ? d->r : -ENOMEM;
		return NULL;
	}
	if (json_type(v) == JSON_ABSENT)
		return list;
	if (json_type(v) != JSON_ARRAY)
		manifest_set_error(d, key, 0, "must be a list of strings");
	else if (json_count(v) > most)
		manifest_set_error(d, key, 0, "has too many items");
	while (!d->r && json_next(v, &it, NULL, &item)) {
		list[*n] = manifest_get_string(d, key, *n + 1, item);
		(*n)++;
		if (!d->r && !list[*n - 1][0])
			manifest_set_error(d, key, *n, "is empty");
	}
	return list;
}

/* --- The keys ----------------------------------------------------------------- */

static void manifest_read_name(struct reading *d, const char *key, struct json_val v)
{
	const char *name = manifest_get_string(d, key, 0, v);

	if (name && !str_eq(str_c(name), d->name))
		manifest_set_error(d, key, 0, "must be the name of the folder");
}

static void manifest_read_protocol(struct reading *d, const char *key, struct json_val v)
{
	int64_t n;

	if (json_i64(v, &n) < 0)
		manifest_set_error(d, key, 0, "must be a number");
	else if (n != PROTOCOL)
		manifest_set_error(d, key, 0, "is not supported; 1 is");
}

static void manifest_read_argv(struct reading *d, const char *key, struct json_val v)
{
	size_t n;

	d->m->argv = manifest_get_list(d, key, v, PLUGIN_WORDS_MAX, &n);
	if (!n)
		manifest_set_error(d, key, 0, "must name a program");
}

static void manifest_read_probe(struct reading *d, const char *key, struct json_val v)
{
	size_t n;

	d->m->probe = manifest_get_list(d, key, v, PLUGIN_WORDS_MAX, &n);
}

static void manifest_read_needs(struct reading *d, const char *key, struct json_val v)
{
	size_t n;

	d->m->needs = manifest_get_list(d, key, v, PLUGIN_WORDS_MAX, &n);
}

static uint64_t manifest_get_seconds(
	struct reading *d, const char *key, struct json_val v, uint64_t otherwise)
{
	int64_t n;

	if (json_type(v) == JSON_ABSENT)
		return otherwise;
	if (json_i64(v, &n) < 0 || n < 1 || n > SECONDS_MAX) {
		manifest_set_error(
			d, key, 0, "must be a number of seconds from 1 to 86400");
		return otherwise;
	}
	return (uint64_t)n * 1000;
}

static void manifest_read_ready(struct reading *d, const char *key, struct json_val v)
{
	d->m->ready_ms = manifest_get_seconds(d, key, v, PLUGIN_READY_MS);
}

static void manifest_read_call(struct reading *d, const char *key, struct json_val v)
{
	d->m->call_ms = manifest_get_seconds(d, key, v, PLUGIN_CALL_MS);
}

static void manifest_read_env(struct reading *d, const char *key, struct json_val v)
{
	const char **list = arena_array(d->arena, PLUGIN_WORDS_MAX + 1, sizeof(*list));
	struct json_val name, value;
	size_t n = 0;
	int it = 0;

	d->m->env = list;
	if (!list)
		d->r = -ENOMEM;
	else if (json_type(v) != JSON_OBJECT && json_type(v) != JSON_ABSENT)
		manifest_set_error(d, key, 0, "must be an object of strings");
	else if (json_count(v) > PLUGIN_WORDS_MAX)
		manifest_set_error(d, key, 0, "has too many members");
	while (!d->r && json_next(v, &it, &name, &value)) {
		const char *left = manifest_get_string(d, key, 0, name);
		const char *right = manifest_get_string(d, key, n + 1, value);
		struct buf both = BUF_INIT(PLUGIN_MANIFEST_MAX);

		if (d->r)
			return;
		if (!*left || strchr(left, '='))
			manifest_set_error(
				d, key, n + 1, "is not a valid name of a variable");
		buf_fmt(&both, "%s=%s", left, right);
		list[n] = both.err ? NULL : arena_cstr(d->arena, buf_view(&both));
		if (!list[n++] && !d->r)
			d->r = -ENOMEM;
		buf_free(&both);
	}
}

static void manifest_read_actions(struct reading *d, const char *key, struct json_val v)
{
	const char **list =
		manifest_get_list(d, key, v, PLUGIN_WORDS_MAX, &d->m->actions_n);

	d->m->actions = list;
	for (size_t i = 0; !d->r && i < d->m->actions_n; i++) {
		struct str s = str_c(list[i]);

		if (s.n > PLUGIN_NAME_MAX || !manifest_has_only(s, action_chars))
			manifest_set_error(
				d, key, i + 1, "is not a name of letters, digits, _ - .");
		for (size_t k = 0; k < i; k++)
			if (str_eq(s, str_c(list[k])))
				manifest_set_error(d, key, i + 1, "is given twice");
	}
}

static bool manifest_is_method(const char *text)
{
	static const char *const methods[] = {
		"DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT"};

	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (!strcmp(text, methods[i]))
			return true;
	return false;
}

/* A path in decoded form, as in requests. A "*" at its end matches any rest. */
static bool manifest_is_path(const char *text)
{
	size_t n = strlen(text);

	return text[0] == '/' && n <= PLUGIN_PATH_MAX && strcspn(text, "*") + 1 >= n;
}

static void manifest_read_route(
	struct reading *d, const char *key, size_t at, struct json_val v)
{
	struct plugin_route *r = &d->m->routes[at];

	if (json_type(v) != JSON_OBJECT || json_count(v) != 2) {
		manifest_set_error(
			d, key, at + 1, "must be an object with method and path");
		return;
	}
	r->method = manifest_get_string(d, key, at + 1, json_get(v, "method"));
	r->path = manifest_get_string(d, key, at + 1, json_get(v, "path"));
	if (d->r)
		return;
	if (!manifest_is_method(r->method))
		manifest_set_error(d, key, at + 1, "has an unknown method");
	else if (!manifest_is_path(r->path))
		manifest_set_error(d, key, at + 1,
			"has no valid path: it begins with / and has a * only at its "
			"end");
	for (size_t i = 0; i < at; i++)
		if (!strcmp(r->method, d->m->routes[i].method) &&
			!strcmp(r->path, d->m->routes[i].path))
			manifest_set_error(d, key, at + 1, "is given twice");
}

static void manifest_read_routes(struct reading *d, const char *key, struct json_val v)
{
	struct json_val item;
	int it = 0;

	d->m->routes = arena_array(d->arena, PLUGIN_WORDS_MAX + 1, sizeof(*d->m->routes));
	if (!d->m->routes)
		d->r = -ENOMEM;
	else if (json_type(v) != JSON_ARRAY && json_type(v) != JSON_ABSENT)
		manifest_set_error(d, key, 0, "must be a list of objects");
	else if (json_count(v) > PLUGIN_WORDS_MAX)
		manifest_set_error(d, key, 0, "has too many items");
	while (!d->r && json_next(v, &it, NULL, &item))
		manifest_read_route(d, key, d->m->routes_n++, item);
}

static const struct key {
	const char *name;
	bool required;
	void (*read)(struct reading *d, const char *key, struct json_val v);
} keys[] = {
	{"name", true, manifest_read_name},
	{"protocol", true, manifest_read_protocol},
	{"argv", true, manifest_read_argv},
	{"env", false, manifest_read_env},
	{"needs", false, manifest_read_needs},
	{"probe", false, manifest_read_probe},
	{"ready_seconds", false, manifest_read_ready},
	{"call_seconds", false, manifest_read_call},
	{"actions", false, manifest_read_actions},
	{"routes", false, manifest_read_routes},
};

static void manifest_check_keys(struct reading *d, struct json_val root)
{
	struct json_val key, value;
	int it = 0;

	while (!d->r && json_next(root, &it, &key, &value)) {
		const char *name = manifest_get_string(d, "a key", 0, key);
		bool known = false;

		for (size_t i = 0; name && i < ARRAY_LEN(keys); i++)
			known = known || !strcmp(name, keys[i].name);
		if (!d->r && !known)
			manifest_set_error(d, name, 0, "is not a key of a manifest");
	}
}

int plugin_manifest_read(struct plugin_manifest *m, struct str text, struct str name,
	struct arena *a, struct buf *why)
{
	static const struct json_caps caps = {8, 2000, JSON_KEYS_MAX};
	struct reading d = {.m = m, .name = name, .arena = a, .why = why};
	struct json_error e = {0};
	struct json_val root;
	struct json json;
	int r = json_parse(&json, text, &caps, a, &e);

	*m = (struct plugin_manifest){0};
	if (r == -ENOMEM)
		return r;
	if (r) {
		buf_fmt(why, "byte %zu: %s", e.at, e.why);
		return ERR_SYNTAX;
	}
	root = json_root(&json);
	if (json_type(root) != JSON_OBJECT) {
		buf_puts(why, "it must be an object");
		return ERR_SYNTAX;
	}
	manifest_check_keys(&d, root);
	for (size_t i = 0; !d.r && i < ARRAY_LEN(keys); i++) {
		struct json_val v = json_get(root, keys[i].name);

		if (keys[i].required && json_type(v) == JSON_ABSENT)
			manifest_set_error(&d, keys[i].name, 0, "is missing");
		else
			keys[i].read(&d, keys[i].name, v);
	}
	return d.r;
}
