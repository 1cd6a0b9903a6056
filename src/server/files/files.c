#include "server/files/files.h"

#include "action/session.h"
#include "limits.h"
#include "server/files/file_jobs.h"
#include "server/files/priv_writer.h"
#include "server/files/watch.h"
#include "server/params.h"

#define ASK(member) offsetof(struct transfer_request, member)

/* Parameters are in the body if the route has one that is not streamed. */
static void files_start_transfer(struct api *api, struct request *rq,
	struct transfer_request *ask, const struct param *table, size_t n)
{
	struct params p = {
		.arena = &rq->arena,
		.query = rq->query,
		.cwd = act_box_cwd(api->box),
	};
	bool in_body = rq->body_max && rq->body_max <= HTTP_BODY_MAX;
	int r = in_body ? params_parse_body(&p, rq->body) : 0;

	if (!r)
		r = params_read(&p, table, n, ask);
	if (r)
		api_refuse(rq, (unsigned)r, p.error);
	else
		transfer_start(api, rq, ask);
}

/* *value is empty if the field is absent or given twice. */
static int files_read_header(struct request *rq, const char *name, struct str *value)
{
	int r = request_header(rq, str_c(name), value);

	if (r)
		*value = STR("");
	return r;
}

/*
 * The conditions of RFC 9110, 13.1. Duplicates are refused: ignoring a condition could
 * destroy a file. False: the request is answered.
 */
static bool files_read_conditions(struct request *rq, struct transfer_request *ask)
{
	if (files_read_header(rq, "if-match", &ask->match) != ERR_DUPLICATE &&
		files_read_header(rq, "if-none-match", &ask->none_match) != ERR_DUPLICATE)
		return true;
	api_reply_invalid(
		rq, "header: If-Match and If-None-Match must be given at most once");
	return false;
}

/* Backends that start the drop-in expect uploads to have the server's rights. */
static const struct priv_writer_conf *files_get_writer_conf(const struct box *box)
{
	static struct priv_writer_conf conf;

	if (!box->gives_cwd || !box->config->drop_in || !box->user)
		return NULL;
	conf = (struct priv_writer_conf){
		box->config->working_dir, box->user->uid, box->user->gid};
	return &conf;
}

void files_upload(struct api *api, struct request *rq, struct str name)
{
	static const struct param table[] = {
		{"destination", PARAM_TEXT, .at = ASK(path)},
		{"recursive", PARAM_BOOL, .at = ASK(unpack)},
		{"sync", PARAM_BOOL, .at = ASK(sync)},
	};
	struct transfer_request ask = {
		.work = receive_form,
		.path = STR("/"),
		.privileged = files_get_writer_conf(api->box),
	};

	(void)name;
	files_read_header(rq, "content-type", &ask.type);
	files_start_transfer(api, rq, &ask, table, ARRAY_LEN(table));
}

void files_download(struct api *api, struct request *rq, struct str name)
{
	static const struct param table[] = {
		{"path", PARAM_TEXT, .required = true, .at = ASK(path)},
		{"compress", PARAM_BOOL, .at = ASK(packed)},
	};
	struct transfer_request ask = {.work = send_zip};

	(void)name;
	files_start_transfer(api, rq, &ask, table, ARRAY_LEN(table));
}

void files_list(struct api *api, struct request *rq, struct str name)
{
	static const struct param table[] = {{"path", PARAM_PATH, .at = ASK(path)}};
	struct transfer_request ask = {
		.work = send_list, .path = act_box_cwd(api->box), .quick = true};

	(void)name;
	files_start_transfer(api, rq, &ask, table, ARRAY_LEN(table));
}

/* --- /v1/files -------------------------------------------------------------------- */

#define PATH \
	{ \
		"path", PARAM_PATH, .required = true, .at = ASK(path) \
	}

void files_put(struct api *api, struct request *rq, struct str name)
{
	static const struct param table[] = {PATH, {"sync", PARAM_BOOL, .at = ASK(sync)}};
	struct transfer_request ask = {.work = receive_file};

	(void)name;
	if (files_read_conditions(rq, &ask))
		files_start_transfer(api, rq, &ask, table, ARRAY_LEN(table));
}

void files_put_tar(struct api *api, struct request *rq, struct str name)
{
	static const struct param table[] = {
		PATH,
		{"any_link", PARAM_BOOL, .at = ASK(any_link)},
		{"sync", PARAM_BOOL, .at = ASK(sync)},
	};
	struct transfer_request ask = {.work = receive_tar};

	(void)name;
	files_start_transfer(api, rq, &ask, table, ARRAY_LEN(table));
}

void files_get(struct api *api, struct request *rq, struct str name)
{
	static const struct param table[] = {PATH};
	struct transfer_request ask = {.work = send_file};
	struct str only_if;

	(void)name;
	files_read_header(rq, "range", &ask.range);
	files_read_header(rq, "if-range", &only_if);
	/* If-Range is not evaluated: the whole file is sent (RFC 9110, 13.1.5). */
	if (only_if.n)
		ask.range = STR("");
	if (files_read_conditions(rq, &ask))
		files_start_transfer(api, rq, &ask, table, ARRAY_LEN(table));
}

void files_get_tar(struct api *api, struct request *rq, struct str name)
{
	static const struct param table[] = {
		PATH, {"gzip", PARAM_BOOL, .at = ASK(packed)}};
	struct transfer_request ask = {.work = send_tar};

	(void)name;
	files_start_transfer(api, rq, &ask, table, ARRAY_LEN(table));
}

void files_stat(struct api *api, struct request *rq, struct str name)
{
	static const struct param table[] = {PATH};
	struct transfer_request ask = {.work = send_stat, .quick = true};

	(void)name;
	files_start_transfer(api, rq, &ask, table, ARRAY_LEN(table));
}

void files_mkdir(struct api *api, struct request *rq, struct str name)
{
	static const struct param table[] = {
		PATH, {"parents", PARAM_BOOL, .at = ASK(parents)}};
	struct transfer_request ask = {.work = change_mkdir, .quick = true};

	(void)name;
	files_start_transfer(api, rq, &ask, table, ARRAY_LEN(table));
}

void files_move(struct api *api, struct request *rq, struct str name)
{
	static const struct param table[] = {
		PATH,
		{"to", PARAM_PATH, .required = true, .at = ASK(to)},
		{"replace", PARAM_BOOL, .at = ASK(replace)},
	};
	struct transfer_request ask = {.work = change_move, .quick = true};

	(void)name;
	files_start_transfer(api, rq, &ask, table, ARRAY_LEN(table));
}

void files_remove(struct api *api, struct request *rq, struct str name)
{
	static const struct param table[] = {
		PATH, {"recursive", PARAM_BOOL, .at = ASK(tree)}};
	struct transfer_request ask = {.work = change_remove};

	(void)name;
	files_start_transfer(api, rq, &ask, table, ARRAY_LEN(table));
}

/* --- /v1/watch -------------------------------------------------------------------- */

/* Relative paths are resolved against the directory of a session. */
static int files_read_watch(
	struct api *api, struct params *p, struct transfer_request *ask)
{
	static const struct param by_name[] = {{"session", PARAM_TEXT, .at = ASK(to)}};
	static const struct param table[] = {
		PATH,
		{"recursive", PARAM_BOOL, .at = ASK(tree)},
		{"existing", PARAM_BOOL, .at = ASK(existing)},
		{"ignore", PARAM_BOOL, .at = ASK(ignore)},
		{"exclude", PARAM_TEXT, .at = ASK(exclude)},
		{"heartbeat", PARAM_NUMBER, .at = ASK(beat_s), .min = 1,
			.max = WATCH_BEAT_MAX_S},
	};
	struct session *session;
	int r = params_read(p, by_name, ARRAY_LEN(by_name), ask);

	if (r)
		return r;
	session = session_find(api->box, ask->to.n ? ask->to : STR(SESSION_DEFAULT));
	if (!session)
		return params_set_error(p, "session", "no session has this name");
	p->cwd = session_cwd(session);
	return params_read(p, table, ARRAY_LEN(table), ask);
}

void files_watch(struct api *api, struct request *rq, struct str name)
{
	struct transfer_request ask = {
		.work = watch_work, .endless = true, .beat_s = WATCH_BEAT_S};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	int r = files_read_watch(api, &p, &ask);

	(void)name;
	if (r)
		api_refuse(rq, (unsigned)r, p.error);
	else
		transfer_start(api, rq, &ask);
}
