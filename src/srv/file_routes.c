#include "srv/file_routes.h"

#include "limits.h"
#include "srv/transfer_io.h"
#include "srv/transfer_v1.h"
#include "term/shell.h"

#include <errno.h>
#include <stdio.h>

static bool read_bool(struct str s, bool *out)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{"true", true},
		{"false", false},
		{"1", true},
		{"0", false},
		{"on", true},
		{"off", false},
		{"yes", true},
		{"no", false},
		{"t", true},
		{"f", false},
		{"y", true},
		{"n", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_eq_nocase(s, str_c(words[i].word))) {
			*out = words[i].value;
			return true;
		}
	return false;
}

/* The parameter, or what *value was; false, and answered, when it is malformed. */
static bool take_text(struct request *rq, const char *name, struct str *value)
{
	int r = request_query(rq, str_c(name), value);

	if (r == -ENOMEM)
		api_no_memory(rq);
	else if (r < 0)
		api_invalid(rq, "query: a parameter stands twice or is malformed");
	return r >= 0;
}

static bool take_bool(struct request *rq, const char *name, bool *value)
{
	struct str text = {NULL, 0};

	if (!take_text(rq, name, &text))
		return false;
	if (!text.p || read_bool(text, value))
		return true;
	api_invalid(rq, "query: a parameter must be true or false");
	return false;
}

static bool take_path(struct request *rq, struct str *path)
{
	if (!take_text(rq, "path", path))
		return false;
	if (!path->p)
		api_invalid(rq, "query: \"path\" is required");
	return path->p;
}

void files_upload(struct api *api, struct request *rq, struct str name)
{
	struct transfer_ask ask = {.work = transfer_upload, .path = STR("/")};

	(void)name;
	if (request_header(rq, STR("content-type"), &ask.type))
		ask.type = STR("");
	if (take_text(rq, "destination", &ask.path) &&
		take_bool(rq, "recursive", &ask.recursive) &&
		take_bool(rq, "sync", &ask.sync))
		transfer_start(api, rq, &ask);
}

void files_download(struct api *api, struct request *rq, struct str name)
{
	struct transfer_ask ask = {.work = transfer_download};

	(void)name;
	if (take_path(rq, &ask.path) && take_bool(rq, "compress", &ask.packed))
		transfer_start(api, rq, &ask);
}

static struct str join(struct request *rq, const char *dir, struct str path)
{
	size_t n = strlen(dir);
	char *p = arena_alloc(&rq->arena, n + 1 + path.n);

	if (!p)
		return str_make(NULL, 0);
	memcpy(p, dir, n);
	p[n] = '/';
	memcpy(p + n + 1, path.p, path.n);
	return str_make(p, n + 1 + path.n);
}

/* The path that is asked for: 0; ERR_TYPE for a body that upstream fails on. */
static int list_path(struct api *api, struct request *rq, struct str *path)
{
	static const struct json_caps caps = {
		.depth = JSON_DEPTH_MAX,
		.tokens = JSON_TOKENS_MAX,
		.keys = JSON_KEYS_MAX,
	};
	const char *cwd = api->box->shell_setup->cwd;
	struct json *doc = arena_alloc(&rq->arena, sizeof(*doc));
	struct json_error e;
	struct json_val v;

	if (!doc)
		return -ENOMEM;
	if (json_parse(doc, rq->body, &caps, &rq->arena, &e) < 0 ||
		json_type(json_root(doc)) != JSON_OBJECT)
		return ERR_TYPE;
	v = json_get(json_root(doc), "path");
	*path = str_c(cwd);
	if (json_type(v) == JSON_ABSENT || json_type(v) == JSON_NULL)
		return 0;
	if (json_str(v, &rq->arena, path) < 0)
		return ERR_TYPE;
	if (!str_starts(*path, STR("/")))
		*path = join(rq, cwd, *path);
	return path->p ? 0 : -ENOMEM;
}

void files_list(struct api *api, struct request *rq, struct str name)
{
	struct transfer_ask ask = {.work = transfer_list, .quick = true};
	int r = list_path(api, rq, &ask.path);

	(void)name;
	if (r == 0)
		transfer_start(api, rq, &ask);
	else if (r == -ENOMEM)
		api_no_memory(rq);
	else
		request_fail(rq, 500,
			STR("An unexpected error occurred. Please try again later."));
}

/* --- /v1/files -------------------------------------------------------------------- */

/* A path of the query, made absolute; false, and answered, when it cannot be. */
static bool take_v1(
	struct api *api, struct request *rq, const char *name, struct str *path)
{
	char words[64];

	if (!take_text(rq, name, path))
		return false;
	if (!path->p || !path->n) {
		snprintf(words, sizeof(words), "query: \"%s\" is required", name);
		api_invalid(rq, words);
		return false;
	}
	if (!str_starts(*path, STR("/")))
		*path = join(rq, api->box->shell_setup->cwd, *path);
	if (!path->p)
		api_no_memory(rq);
	return path->p;
}

static void take_header(struct request *rq, const char *name, struct str *value)
{
	if (request_header(rq, str_c(name), value))
		*value = STR("");
}

void files_put(struct api *api, struct request *rq, struct str name)
{
	struct transfer_ask ask = {.work = v1_put};
	struct str none;

	(void)name;
	take_header(rq, "if-match", &ask.match);
	take_header(rq, "if-none-match", &none);
	ask.none = str_eq(none, STR("*"));
	if (take_v1(api, rq, "path", &ask.path) && take_bool(rq, "sync", &ask.sync))
		transfer_start(api, rq, &ask);
}

void files_put_tar(struct api *api, struct request *rq, struct str name)
{
	struct transfer_ask ask = {.work = v1_put_tar};

	(void)name;
	if (take_v1(api, rq, "path", &ask.path) &&
		take_bool(rq, "any_link", &ask.any_link))
		transfer_start(api, rq, &ask);
}

void files_get(struct api *api, struct request *rq, struct str name)
{
	struct transfer_ask ask = {.work = v1_get};
	struct str only_if;

	(void)name;
	take_header(rq, "range", &ask.range);
	take_header(rq, "if-range", &only_if);
	/* What cannot be compared cheaply is answered in full (RFC 9110, 13.1.5). */
	if (only_if.n)
		ask.range = STR("");
	if (take_v1(api, rq, "path", &ask.path))
		transfer_start(api, rq, &ask);
}

void files_get_tar(struct api *api, struct request *rq, struct str name)
{
	struct transfer_ask ask = {.work = v1_get_tar};

	(void)name;
	if (take_v1(api, rq, "path", &ask.path) && take_bool(rq, "gzip", &ask.packed))
		transfer_start(api, rq, &ask);
}

void files_stat(struct api *api, struct request *rq, struct str name)
{
	struct transfer_ask ask = {.work = v1_stat, .quick = true};

	(void)name;
	if (take_v1(api, rq, "path", &ask.path))
		transfer_start(api, rq, &ask);
}

void files_mkdir(struct api *api, struct request *rq, struct str name)
{
	struct transfer_ask ask = {.work = v1_mkdir, .quick = true};

	(void)name;
	if (take_v1(api, rq, "path", &ask.path) &&
		take_bool(rq, "parents", &ask.recursive))
		transfer_start(api, rq, &ask);
}

void files_move(struct api *api, struct request *rq, struct str name)
{
	struct transfer_ask ask = {.work = v1_move, .quick = true};

	(void)name;
	if (take_v1(api, rq, "path", &ask.path) && take_v1(api, rq, "to", &ask.to) &&
		take_bool(rq, "replace", &ask.recursive))
		transfer_start(api, rq, &ask);
}

void files_remove(struct api *api, struct request *rq, struct str name)
{
	struct transfer_ask ask = {.work = v1_remove};

	(void)name;
	if (take_v1(api, rq, "path", &ask.path) &&
		take_bool(rq, "recursive", &ask.recursive))
		transfer_start(api, rq, &ask);
}
