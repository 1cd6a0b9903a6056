#include "browser/action/answer.h"

#include "base/b64.h"
#include "base/jw.h"

enum { PICTURE_MAX = 24 << 20 }; /* as Base64 */

#define BEGIN_ERROR "================ BEGIN error message ===============\n"
#define END_ERROR "================ END error message ===============\n"
#define BEGIN_TREE "============== BEGIN accessibility tree ==============\n"
#define END_TREE "============== END accessibility tree ==============\n"
#define BEGIN_PAGE "============== BEGIN webpage content ==============\n"
#define END_PAGE "\n============== END webpage content ==============\n"

static const char tree_words[] =
	"Accessibility tree of the COMPLETE webpage:\n"
	"Note: [bid] is the unique alpha-numeric identifier at the beginning of lines "
	"for each element in the AXTree. Always use bid to refer to elements in your "
	"actions.\n";

static void browse_answer_put_text(struct jw_text *t, const char *words)
{
	jw_text_put(t, str_c(words));
}

static void browse_answer_put_error(struct jw_text *t, const struct browse_answer *a)
{
	browse_answer_put_text(t, BEGIN_ERROR);
	browse_answer_put_text(t,
		a->visit ? "The following error occurred when trying to visit the URL:\n"
			 : "The following error occurred when executing the last action:"
			   "\n");
	jw_text_put(t, a->error);
	browse_answer_put_text(t, "\n" END_ERROR);
}

static void browse_answer_put_page(struct jw_text *t, const struct browse_answer *a)
{
	if (a->error.n)
		browse_answer_put_error(t, a);
	if (a->text_error.n && !a->text.n) {
		browse_answer_put_text(t, "\n[Error encountered when reading the page: ");
		jw_text_put(t, a->text_error);
		browse_answer_put_text(t, "]");
		return;
	}
	browse_answer_put_text(t, BEGIN_PAGE);
	jw_text_put(t, a->text);
	browse_answer_put_text(t, END_PAGE);
}

static void browse_answer_put_tree(struct jw_text *t, const struct browse_answer *a)
{
	browse_answer_put_text(t, "[Focused element bid: ");
	jw_text_put(t, a->focused.p ? a->focused : STR("None"));
	browse_answer_put_text(t, "]\n");
	if (a->path.n) {
		browse_answer_put_text(t, "[Screenshot saved to: ");
		jw_text_put(t, a->path);
		browse_answer_put_text(t, "]\n");
	}
	browse_answer_put_text(t, "\n");
	if (a->error.n)
		browse_answer_put_error(t, a);
	else
		browse_answer_put_text(t, "[Action executed successfully.]\n");
	if (a->text_error.n) {
		browse_answer_put_text(t,
			"\n[Error encountered when processing the accessibility tree: ");
		jw_text_put(t, a->text_error);
		browse_answer_put_text(t, "]");
		return;
	}
	browse_answer_put_text(t, tree_words);
	browse_answer_put_text(t, BEGIN_TREE);
	jw_text_put(t, a->text);
	browse_answer_put_text(t, "\n" END_TREE);
}

static void browse_answer_write_content(struct jw *w, const struct browse_answer *a)
{
	struct jw_text t;

	jw_text_begin(&t, w);
	browse_answer_put_text(&t, "[Current URL: ");
	jw_text_put(&t, a->url);
	browse_answer_put_text(&t, "]\n");
	if (a->visit)
		browse_answer_put_page(&t, a);
	else
		browse_answer_put_tree(&t, a);
	jw_text_end(&t);
}

static void browse_answer_write_png(struct jw *w, struct str png)
{
	struct buf coded = BUF_INIT(PICTURE_MAX);
	struct jw_text t;

	b64_encode(&coded, png);
	jw_text_begin(&t, w);
	if (png.n && !coded.err) {
		browse_answer_put_text(&t, "data:image/png;base64,");
		jw_text_put(&t, buf_view(&coded));
	}
	jw_text_end(&t);
	buf_free(&coded);
}

static void browse_answer_write_str(struct jw *w, struct str s)
{
	if (s.p)
		jw_str(w, s);
	else
		jw_null(w);
}

static void browse_answer_write_object(struct jw *w, struct str json)
{
	jw_raw(w, json.n ? json : STR("{}"));
}

/*
 * A client fails on a member that its version does not have. goal_image_urls came with
 * 0.22 and filter_visible_only with 0.47; both are left out, since [] and false are
 * their defaults.
 */
static void browse_answer_write_extras(struct jw *w, const struct browse_answer *a)
{
	jw_key(w, "url");
	jw_str(w, a->url);
	jw_key(w, "trigger_by_action");
	jw_cstr(w, a->visit ? "browse" : "browse_interactive");
	jw_key(w, "screenshot");
	browse_answer_write_png(w, a->screenshot);
	if (a->has_path_member) {
		jw_key(w, "screenshot_path");
		browse_answer_write_str(w, a->path.n ? a->path : str_make(NULL, 0));
	}
	jw_key(w, "set_of_marks");
	browse_answer_write_png(w, a->marks);
	jw_key(w, "error");
	jw_bool(w, a->error.n > 0);
	jw_key(w, "open_pages_urls");
	jw_array(w);
	for (size_t i = 0; i < a->urls_n; i++)
		jw_str(w, a->urls[i]);
	jw_end(w);
	jw_key(w, "active_page_index");
	jw_int(w, a->active);
	jw_key(w, "dom_object");
	browse_answer_write_object(w, STR(""));
	jw_key(w, "axtree_object");
	browse_answer_write_object(w, a->axtree);
	jw_key(w, "extra_element_properties");
	browse_answer_write_object(w, a->props);
	jw_key(w, "last_browser_action");
	jw_str(w, a->action);
	jw_key(w, "last_browser_action_error");
	jw_str(w, a->error);
	jw_key(w, "focused_element_bid");
	browse_answer_write_str(w, a->focused);
}

/* Writes an observation up to its content. The message is words followed by what. */
static void browse_answer_begin(struct jw *w, struct buf *out, const char *words,
	struct str what, const char *observation)
{
	struct jw_text t;

	jw_init(w, out);
	jw_object(w);
	jw_key(w, "message");
	jw_text_begin(&t, w);
	browse_answer_put_text(&t, words);
	jw_text_put(&t, what);
	jw_text_end(&t);
	jw_key(w, "observation");
	jw_cstr(w, observation);
	jw_key(w, "content");
}

void browse_answer_write(const struct browse_answer *a, struct buf *out)
{
	struct jw w;

	browse_answer_begin(&w, out, "Visited ", a->url, "browse");
	browse_answer_write_content(&w, a);
	jw_key(&w, "extras");
	jw_object(&w);
	browse_answer_write_extras(&w, a);
	jw_end(&w);
	jw_end(&w);
}

void browse_answer_put_failure(
	bool visit, struct str asked, struct str words, struct buf *out)
{
	struct browse_answer a = {
		.visit = visit,
		.url = visit ? asked : STR(""),
		.action = STR(""),
		.error = words,
		.active = -1,
		.focused = STR(""),
		.text_error = visit ? STR("") : STR("'nodes'"),
	};

	browse_answer_write(&a, out);
}

void browse_answer_put_download(struct str action, struct str path, struct buf *out)
{
	struct jw_text t;
	struct jw w;

	browse_answer_begin(
		&w, out, "Downloaded the file at location: ", path, "download");
	jw_text_begin(&t, &w);
	browse_answer_put_text(&t, "Execution of the previous action ");
	jw_text_put(&t, action);
	browse_answer_put_text(&t,
		" resulted in a file download. The downloaded file is saved at "
		"location: ");
	jw_text_put(&t, path);
	jw_text_end(&t);
	jw_key(&w, "extras");
	jw_object(&w);
	jw_key(&w, "file_path");
	jw_str(&w, path);
	jw_end(&w);
	jw_end(&w);
}
