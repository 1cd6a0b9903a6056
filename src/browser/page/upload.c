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
static const struct value *first_of(const struct value *files)
{
	return files->kind == VALUE_STRING ? files : files->first;
}

static const struct value *next_of(const struct value *files, const struct value *one)
{
	return files->kind == VALUE_STRING ? NULL : one->next;
}

/* A relative name refers to the working directory of this process. */
static int make_absolute(struct str name, struct buf *out)
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

static int check_file(struct doing *d, struct str name)
{
	struct buf path = BUF_INIT(2 * FILE_PATH_MAX);
	const char *cpath = NULL;
	int r = make_absolute(name, &path);

	if (!r)
		cpath = buf_cstr(&path);
	if (!r && (!cpath || strlen(cpath) != path.n || access(cpath, R_OK) < 0))
		r = doing_refuse(d,
			errno == EACCES && cpath
				? "Error: %s: EACCES: permission denied, access '%.*s'"
				: "Error: %s: ENOENT: no such file or directory, access "
				  "'%.*s'",
			api, STR_ARG(buf_view(&path)));
	buf_free(&path);
	return r;
}

int upload_check(struct doing *d, const struct value *files)
{
	size_t i = 0;
	int r = 0;

	if (files->kind != VALUE_STRING && files->kind != VALUE_LIST &&
		files->kind != VALUE_TUPLE)
		return doing_refuse(
			d, "TypeError: '%s' object is not iterable", value_type(files));
	for (const struct value *one = first_of(files); one && !r;
		one = next_of(files, one), i++)
		r = one->kind == VALUE_STRING
			? check_file(d, one->text)
			: doing_refuse(d,
				  "Error: %s: files[%zu]: expected string, got %s", api,
				  i, doing_typeof(one));
	return r;
}

/* --- The chooser ------------------------------------------------------------------ */

struct awaited {
	const struct tab *tab;
	unsigned choosers;
};

static bool has_chooser(void *arg)
{
	const struct awaited *a = arg;

	return a->tab->choosers != a->choosers || a->tab->state != TAB_READY;
}

static int put_files(struct jw *w, const struct value *files)
{
	struct buf path = BUF_INIT(2 * FILE_PATH_MAX);
	int r = 0;

	jw_array(w);
	for (const struct value *one = first_of(files); one && !r;
		one = next_of(files, one)) {
		r = make_absolute(one->text, &path);
		jw_str(w, buf_view(&path));
	}
	jw_end(w);
	buf_free(&path);
	return r;
}

/* The protocol omits an empty list, so element.js clears the input. */
static int set_none(struct doing *d)
{
	struct json_val result;
	struct str object, word;
	char params[64];
	int r;

	snprintf(params, sizeof(params), "{\"backendNodeId\":%lld}",
		(long long)d->tab->chooser_node);
	r = tab_call(
		d->tab, "DOM.resolveNode", str_c(params), d->patience, d->arena, &result);
	if (!r)
		r = json_str(json_get(json_get(result, "object"), "objectId"), d->arena,
			&object);
	return r ? r : element_call(d, object, STR("[{\"value\":\"empty\"}]"), &word);
}

static int set_files(struct doing *d, const struct value *files)
{
	struct buf params = BUF_INIT(UPLOAD_PARAMS_MAX);
	struct jw w;
	int r;

	jw_init(&w, &params);
	jw_object(&w);
	jw_key(&w, "files");
	r = put_files(&w, files);
	jw_key(&w, "backendNodeId");
	jw_int(&w, d->tab->chooser_node);
	jw_end(&w);
	if (!r)
		r = tab_call_take(d->tab, "DOM.setFileInputFiles", &params, d->patience,
			NULL, NULL);
	buf_free(&params);
	return r;
}

int upload_finish(struct doing *d, unsigned choosers, const struct value *files)
{
	struct awaited a = {d->tab, choosers};
	uint64_t deadline = clock_ms() + CHOOSER_MS;
	int r = browser_until(d->browser, has_chooser, &a, deadline);

	if (r == -ETIMEDOUT)
		return doing_refuse(d,
			"TimeoutError: Timeout %dms exceeded while waiting for event "
			"\"filechooser\"",
			CHOOSER_MS);
	if (!r && d->tab->choosers == choosers)
		r = -EPIPE;
	if (r)
		return r;
	d->api = api;
	d->patience = clock_ms() + CHOOSER_MS;
	if (!d->tab->chooser_multiple && files->kind != VALUE_STRING && files->count > 1)
		return doing_refuse(d,
			"Error: %s: Error: Non-multiple file input can only accept "
			"single file",
			api);
	return first_of(files) ? set_files(d, files) : set_none(d);
}
