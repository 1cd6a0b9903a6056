/* Lists the files of a folder in a sandbox. */
#include "inject/cli/commands.h"

#include "base/jw.h"
#include "inject/cli/remote_path.h"
#include "inject/console/out.h"
#include "inject/sandbox/copy/copy.h"
#include "limits.h"

#include <stdio.h>

/* Requests the list from the server; the body is JSON. */
static int ls_request_list(const struct sandbox *s, const char *path, struct reply *reply)
{
	struct buf body = BUF_INIT(INJECT_TEXT_MAX);
	struct jw w;
	int r;

	jw_init(&w, &body);
	jw_object(&w);
	if (path) {
		jw_key(&w, "path");
		jw_cstr(&w, path);
	}
	jw_end(&w);
	reply_init(reply);
	r = body.err ? body.err
		     : sandbox_request(s, "POST", TARGET("/list_files"), buf_view(&body),
			       INJECT_ENGINE_MS, reply);
	if (!r && reply->status != 200)
		r = sandbox_fail_reply(s, reply);
	buf_free(&body);
	return r;
}

static int ls_print_names(const struct command_line *line, const struct reply *reply)
{
	struct buf out = BUF_INIT(INJECT_REPLY_MAX);
	struct json_val name;
	struct json_doc d;
	int it = 0;
	int r = json_doc_parse(&d, buf_view(&reply->body));

	if (r)
		return out_fail("its client may be of another version: od-runtime update "
				"SANDBOX replaces it",
			"the sandbox's list of files is not JSON");
	if (line->json)
		buf_str(&out, buf_view(&reply->body));
	while (!line->json && json_next(json_doc_root(&d), &it, NULL, &name)) {
		out_clean(&out, json_doc_str(&d, name), false);
		buf_putc(&out, '\n');
	}
	if (line->json)
		buf_putc(&out, '\n');
	json_doc_free(&d);
	r = out.err ? out.err : out_write_text(1, buf_view(&out));
	buf_free(&out);
	return r;
}

/* Whether path is a folder; the server reports why it cannot be read. */
static int ls_stat_folder(const struct sandbox *s, const char *path, bool *is)
{
	struct target target;
	struct reply reply;
	struct json_doc d;
	int r;

	target_init(&target, ENGINE_TARGET_MAX);
	target_add(&target, "/v1/files/stat?path=%s", path);
	r = sandbox_request(s, "GET", &target, STR(""), INJECT_ENGINE_MS, &reply);
	target_free(&target);
	if (!r && reply.status != 200)
		r = sandbox_fail_reply(s, &reply);
	*is = false;
	if (!r && json_doc_parse(&d, buf_view(&reply.body)) == 0) {
		*is = str_eq(json_doc_str(&d, json_get(json_doc_root(&d), "type")),
			STR("directory"));
		json_doc_free(&d);
	}
	reply_free(&reply);
	return r;
}

#define NEXT_LS "od-runtime ls SANDBOX / lists the files of the sandbox"

/*
 * The server returns an empty list for a path that cannot be listed; here it is an
 * error.
 */
static int ls_check_folder(const struct sandbox *s, const char *path)
{
	const struct copy c = {.sandbox = s};
	enum copy_kind kind;
	bool folder = false;
	int r = copy_find_kind(&c, str_c(path), &kind);

	if (r || kind == COPY_FOLDER)
		return r;
	if (kind == COPY_ABSENT)
		return out_fail(NEXT_LS, "%s does not exist", path);
	r = ls_stat_folder(s, path, &folder);
	if (r)
		return r;
	if (!folder)
		return out_fail(NEXT_LS, "%s is not a folder", path);
	return out_fail(
		"od-runtime stop SANDBOX: cp then copies with the engine's rights",
		"%s: the sandbox user has no permission to read it", path);
}

/* The operands are SANDBOX, SANDBOX:PATH, or SANDBOX and PATH. */
static int ls_list_path(const struct command_line *line, const struct engine *e)
{
	const char *path = line->operand_n > 1 ? line->operand[1] : NULL;
	struct str rest = str_c(line->operand[0]), name = str_cut(&rest, ':');
	struct buf whole = BUF_INIT(FILE_PATH_MAX);
	char sandbox[STATE_NAME_MAX + 1];
	struct reply reply = {0};
	struct sandbox s = {0};
	int r;

	snprintf(sandbox, sizeof(sandbox), "%.*s", STR_ARG(name));
	if (remote_path_is(line->operand[0]))
		path = remote_path_make_absolute(&whole, rest.p);
	r = whole.err ? out_fail("a path has at most 4,095 bytes", "the path is too long")
		      : sandbox_open(e, sandbox, &s);
	if (!r && path)
		r = ls_check_folder(&s, path);
	if (!r)
		r = ls_request_list(&s, path, &reply);
	if (!r)
		r = ls_print_names(line, &reply);
	state_wipe_key(&s.state);
	reply_free(&reply);
	buf_free(&whole);
	return r;
}

static int cmd_ls(const struct command_line *line)
{
	struct engine e;
	int r = engine_open(&e, line->host);

	return r ? r : ls_list_path(line, &e);
}

static int ls_check_operands(const struct command_line *line)
{
	const char *place = line->operand[0];

	if (!remote_path_is(place))
		return options_check_sandbox(place);
	if (line->operand_n > 1)
		return out_fail_usage("give for example: ls box:/etc or ls box /etc",
			"two folders are given: '%s' and '%s'", place, line->operand[1]);
	return remote_path_check(place);
}

const struct command command_ls = {
	.name = "ls",
	.usage = "SANDBOX[:PATH] | SANDBOX PATH",
	.purpose = "list the files of a folder in a sandbox",
	.more = "Without PATH, the folder is the working directory.",
	.examples = {"od-runtime ls box:/etc"},
	.operands = 2,
	.last_optional = true,
	.subject = SUBJECT_PLACE,
	.check = ls_check_operands,
	.run = cmd_ls,
};
