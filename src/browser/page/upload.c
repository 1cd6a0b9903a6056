#include "browser/page/upload.h"

#include "base/clock.h"
#include "base/jw.h"
#include "browser/page/element.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { CHOOSER_MS = 3000, UPLOAD_PARAMS_MAX = 1 << 20 };

static const char api[] = "FileChooser.set_files";

/* --- Names ------------------------------------------------------------------------ */

/* The file, or the first of a list; files is a string or a list. */
static const struct value *upload_first_value(const struct value *files)
{
	return files->kind == VALUE_STRING ? files : files->first;
}

static const struct value *upload_next_value(
	const struct value *files, const struct value *one)
{
	return files->kind == VALUE_STRING ? NULL : one->next;
}

/* A relative name refers to the working directory of this process. */
static int upload_make_absolute(struct str name, struct buf *out)
{
	char cwd[FILE_PATH_MAX];

	buf_reset(out);
	if (!str_starts(name, STR("/"))) {
		if (!getcwd(cwd, sizeof(cwd)))
			return -errno;
		buf_puts(out, cwd);
		buf_putc(out, '/');
	}
	buf_str(out, name);
	return out->err;
}

static int upload_check_readable(struct action_call *d, struct str name)
{
	struct buf path = BUF_INIT(2 * FILE_PATH_MAX);
	const char *cpath = NULL;
	int r = upload_make_absolute(name, &path);

	if (!r)
		cpath = buf_cstr(&path);
	if (!r && (!cpath || strlen(cpath) != path.n || access(cpath, R_OK) < 0))
		r = action_call_refuse(d,
			errno == EACCES && cpath
				? "Error: %s: EACCES: permission denied, access '%.*s'"
				: "Error: %s: ENOENT: no such file or directory, access "
				  "'%.*s'",
			api, STR_ARG(buf_view(&path)));
	buf_free(&path);
	return r;
}

int upload_check_files(struct action_call *d, const struct value *files)
{
	size_t i = 0;
	int r = 0;

	if (files->kind != VALUE_STRING && files->kind != VALUE_LIST &&
		files->kind != VALUE_TUPLE)
		return action_call_refuse(d, "TypeError: '%s' object is not iterable",
			value_type_name(files));
	for (const struct value *one = upload_first_value(files); one && !r;
		one = upload_next_value(files, one), i++)
		r = one->kind == VALUE_STRING
			? upload_check_readable(d, one->text)
			: action_call_refuse(d,
				  "Error: %s: files[%zu]: expected string, got %s", api,
				  i, action_call_js_type(one));
	return r;
}

/* --- The chooser ------------------------------------------------------------------ */

struct chooser_wait {
	const struct tab *tab;
	unsigned choosers;
};

static bool upload_has_chooser(void *arg)
{
	const struct chooser_wait *a = arg;

	return a->tab->choosers != a->choosers || a->tab->state != TAB_READY;
}

static int upload_put_files(struct jw *w, const struct value *files)
{
	struct buf path = BUF_INIT(2 * FILE_PATH_MAX);
	int r = 0;

	jw_array(w);
	for (const struct value *one = upload_first_value(files); one && !r;
		one = upload_next_value(files, one)) {
		r = upload_make_absolute(one->text, &path);
		jw_str(w, buf_view(&path));
	}
	jw_end(w);
	buf_free(&path);
	return r;
}

/* The protocol omits an empty list, so element.js clears the input. */
static int upload_clear_files(struct action_call *d)
{
	struct json_val result;
	struct str object, word;
	char params[64];
	int r;

	snprintf(params, sizeof(params), "{\"backendNodeId\":%lld}",
		(long long)d->tab->chooser_node);
	r = tab_call(d->tab, "DOM.resolveNode", str_c(params), d->answer_deadline,
		d->arena, &result);
	if (!r)
		r = json_str(json_get(json_get(result, "object"), "objectId"), d->arena,
			&object);
	return r ? r
		 : element_call_json(d, object, STR("[{\"value\":\"empty\"}]"), &word);
}

static int upload_set_files(struct action_call *d, const struct value *files)
{
	struct buf params = BUF_INIT(UPLOAD_PARAMS_MAX);
	struct jw w;
	int r;

	jw_init(&w, &params);
	jw_object(&w);
	jw_key(&w, "files");
	r = upload_put_files(&w, files);
	jw_key(&w, "backendNodeId");
	jw_int(&w, d->tab->chooser_node);
	jw_end(&w);
	if (!r)
		r = tab_call_take(d->tab, "DOM.setFileInputFiles", &params,
			d->answer_deadline, NULL, NULL);
	buf_free(&params);
	return r;
}

int upload_finish_chooser(
	struct action_call *d, unsigned choosers, const struct value *files)
{
	struct chooser_wait a = {d->tab, choosers};
	uint64_t deadline = clock_ms() + CHOOSER_MS;
	int r = browser_wait_until(d->browser, upload_has_chooser, &a, deadline);

	if (r == -ETIMEDOUT)
		return action_call_refuse(d,
			"TimeoutError: Timeout %dms exceeded while waiting for event "
			"\"filechooser\"",
			CHOOSER_MS);
	if (!r && d->tab->choosers == choosers)
		r = -EPIPE;
	if (r)
		return r;
	d->api = api;
	d->answer_deadline = clock_ms() + CHOOSER_MS;
	if (!d->tab->chooser_multiple && files->kind != VALUE_STRING && files->count > 1)
		return action_call_refuse(d,
			"Error: %s: Error: Non-multiple file input can only accept "
			"single file",
			api);
	return upload_first_value(files) ? upload_set_files(d, files)
					 : upload_clear_files(d);
}
