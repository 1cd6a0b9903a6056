#include "action/observe.h"

#include "base/utf8.h"
#include "limits.h"

#include <stdarg.h>
#include <stdio.h>

void observe_begin(struct jw *w, struct buf *out, const char *kind, struct str message,
	struct str content)
{
	jw_init(w, out);
	jw_object(w);
	jw_key(w, "message");
	jw_str(w, message);
	jw_key(w, "observation");
	jw_cstr(w, kind);
	jw_key(w, "content");
	jw_str(w, content);
	jw_key(w, "extras");
	jw_object(w);
}

void observe_end(struct jw *w)
{
	jw_end(w);
	jw_end(w);
}

static void observe_put_error(struct act *a, struct str text)
{
	struct jw w;

	observe_begin(&w, a->out, "error", text, text);
	jw_key(&w, "error_id");
	jw_cstr(&w, "");
	observe_end(&w);
}

void observe_error(struct act *a, struct str text)
{
	/*
	 * Clients add a field to the answer of a hidden run that an error observation
	 * lacks.
	 */
	if (a->hidden && a->action && !strcmp(a->action->name, "run"))
		observe_run(a->out,
			&(struct run_observation){
				.command = STR(""),
				.content = text,
				.hidden = true,
				.exit_code = -1,
				.pid = -1,
				.prefix = STR(""),
				.suffix = STR(""),
			});
	else
		observe_put_error(a, text);
}

void observe_errorf(struct act *a, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	if ((size_t)n >= sizeof(text))
		n = sizeof(text) - 1;
	observe_error(a, str_make(text, (size_t)n));
}

/* Writes both halves of content that is too long, and the notice between them. */
static void observe_put_content(struct jw *w, struct str content, bool whole)
{
	static const size_t half = RUN_CONTENT_CHARS / 2;
	size_t chars = whole ? 0 : utf8_count(content);
	struct jw_text t;

	jw_text_begin(&t, w);
	if (chars <= RUN_CONTENT_CHARS) {
		jw_text_put(&t, content);
	} else {
		jw_text_put(&t, str_make(content.p, utf8_offset(content, half)));
		jw_text_put(&t, STR("\n[... Observation truncated due to length ...]\n"));
		jw_text_put(&t, str_skip(content, utf8_offset(content, chars - half)));
	}
	jw_text_end(&t);
}

static void observe_put_optional(
	struct jw *w, const char *key, bool known, struct str value)
{
	jw_key(w, key);
	if (known)
		jw_str(w, value);
	else
		jw_null(w);
}

static void observe_put_metadata(struct jw *w, const struct run_observation *o)
{
	jw_object(w);
	jw_key(w, "exit_code");
	jw_int(w, o->exit_code);
	jw_key(w, "pid");
	jw_int(w, o->pid);
	observe_put_optional(w, "username", o->known, o->username);
	observe_put_optional(w, "hostname", o->known, o->hostname);
	observe_put_optional(w, "working_dir", o->known, o->working_dir);
	observe_put_optional(w, "py_interpreter_path", o->known, o->python);
	jw_key(w, "prefix");
	jw_str(w, o->prefix);
	jw_key(w, "suffix");
	jw_str(w, o->suffix);
	jw_end(w);
}

void observe_run(struct buf *out, const struct run_observation *o)
{
	char code[48];
	struct jw_text t;
	struct jw w;

	snprintf(code, sizeof(code), "` executed with exit code %d.", o->exit_code);
	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "message");
	jw_text_begin(&t, &w);
	jw_text_put(&t, STR("Command `"));
	jw_text_put(&t, o->command);
	jw_text_put(&t, str_c(code));
	jw_text_end(&t);
	jw_key(&w, "observation");
	jw_cstr(&w, "run");
	jw_key(&w, "content");
	observe_put_content(&w, o->content, o->hidden);
	jw_key(&w, "extras");
	jw_object(&w);
	jw_key(&w, "command");
	jw_str(&w, o->command);
	jw_key(&w, "metadata");
	observe_put_metadata(&w, o);
	jw_key(&w, "hidden");
	jw_bool(&w, o->hidden);
	jw_end(&w);
	jw_key(&w, "success");
	jw_bool(&w, o->exit_code == 0);
	jw_end(&w);
}

/* Begins the observation with the sentence that states what was done with the file. */
static void observe_begin_path(struct jw *w, struct act *a, const char *kind,
	const char *did, struct str path, struct str content)
{
	struct buf message = BUF_INIT(OBSERVATION_MAX);

	buf_fmt(&message, "I %s the file %.*s.", did, STR_ARG(path));
	observe_begin(w, a->out, kind, buf_view(&message), content);
	buf_free(&message);
	jw_key(w, "path");
	jw_str(w, path);
}

static void observe_put_source(struct jw *w, const char *source)
{
	jw_key(w, "impl_source");
	jw_cstr(w, source);
}

void observe_read(struct act *a, struct str path, struct str content)
{
	struct jw w;

	observe_begin_path(&w, a, "read", "read", path, content);
	observe_put_source(&w, "default");
	observe_end(&w);
}

void observe_view(struct act *a, struct str path, struct str content)
{
	struct jw w;

	observe_begin_path(&w, a, "read", "read", path, content);
	observe_put_source(&w, "oh_aci");
	observe_end(&w);
}

void observe_write(struct act *a, struct str path)
{
	struct jw w;

	observe_begin_path(&w, a, "write", "wrote to", path, STR(""));
	observe_end(&w);
}

/*
 * Backends of any version may start the drop-in. Versions before 0.28 fail on a member
 * "diff". is_static was added in 0.34.
 */
static bool observe_has_diff(const struct box *box)
{
	return !box->config->drop_in || box->is_static_known;
}

void observe_edit(struct act *a, const struct edit_observation *o)
{
	struct jw w;

	observe_begin_path(&w, a, "edit", "edited", o->path, o->content);
	jw_key(&w, "prev_exist");
	jw_bool(&w, false);
	observe_put_optional(&w, "old_content", o->old_str.p != NULL, o->old_str);
	observe_put_optional(&w, "new_content", o->new_str.p != NULL, o->new_str);
	observe_put_source(&w, "oh_aci");
	if (observe_has_diff(a->box)) {
		jw_key(&w, "diff");
		jw_str(&w, o->diff);
	}
	observe_end(&w);
}
