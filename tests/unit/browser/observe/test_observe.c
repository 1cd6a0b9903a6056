/*
 * What is seen of pages in a real browser: against what the environment of the contract
 * has printed for the same pages, and where pages are in the way.
 */
#include "browser/observe/observe.h"

#include "base/clock.h"
#include "base/fd.h"
#include "browser/devtools/find.h"
#include "browser/devtools/launch.h"
#include "tests/tap.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { START_MS = 60000, STEP_MS = 60000 };

extern char **environ;
static struct launch launch;
static struct browser browser;
static struct page_observation seen;
static char folder[4096]; /* of the recorded pages */
static char own[] = "/tmp/od-observe-XXXXXX";

static uint64_t in_time(void)
{
	return clock_ms() + STEP_MS;
}

/* --- The browser ------------------------------------------------------------------ */

static bool start(void)
{
	static const char *more = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE "
				  "localhost , EXCLUDE 127.0.0.1";
	const char *const *env = (const char *const *)environ;
	struct buf places = BUF_INIT(65536);
	const char **found = NULL;
	struct arena a;
	bool good = false;

	arena_init(&a, 1 << 20);
	if (find_browsers(env, NULL, &a, &places, &found) || !found[0])
		skip("a browser",
			"there is none; apt-get install "
			"chromium-headless-shell");
	else if (ok(!launch_begin(&launch, found[0], env, more), "%s starts", found[0]))
		good = ok(!browser_init(&browser, launch.in, launch.out, launch.pid, own,
				  clock_ms() + START_MS),
			"and answers");
	launch.in = launch.out = -1;
	buf_free(&places);
	arena_reset(&a);
	return good;
}

static bool go(const char *url)
{
	struct tab_navigation moved = {.result = NAV_NO_ENTRY};
	struct arena a;
	int r;

	arena_init(&a, 1 << 20);
	r = tab_navigate(browser_active_tab(&browser), str_c(url), in_time(), &a, &moved);
	arena_reset(&a);
	if (!r)
		r = browser_settle(&browser, in_time());
	return ok(!r && moved.result == NAV_LOADED, "%.60s is shown", url);
}

static bool go_file(const char *dir, const char *name)
{
	char url[4200];

	snprintf(url, sizeof(url), "file://%s/%s", dir, name);
	return go(url);
}

static bool look(const struct observe_options *want)
{
	int r = observe_page(&browser, want, in_time(), &seen);

	return ok(!r, "is seen (%s)", r ? err_text(r) : browser.cdp.refusal);
}

/* --- Recorded pages --------------------------------------------------------------- */

static bool find_folder(void)
{
	const char *data = getenv("OD_DATA");
	char path[4000];

	snprintf(path, sizeof(path), "%s/browser/pages", data ? data : "../shared/data");
	return realpath(path, folder) && access(folder, R_OK) == 0;
}

static void read_file(const char *name, struct buf *out)
{
	char path[4200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/../%s", folder, name);
	buf_reset(out);
	f = fopen(path, "r");
	if (!ok(f != NULL, "%s", name))
		return;
	while (!feof(f)) {
		char *room = buf_reserve(out, 65536);

		if (!room)
			break;
		buf_commit(out, fread(room, 1, 65536, f));
	}
	fclose(f);
}

static void replace(struct buf *text, const char *from, const char *to)
{
	struct buf out = BUF_INIT(1 << 20);
	struct str rest = buf_view(text), what = str_c(from);

	for (;;) {
		size_t at = str_find(rest, what);

		buf_put(&out, rest.p, at);
		if (at == rest.n)
			break;
		buf_puts(&out, to);
		rest = str_skip(rest, at + what.n);
	}
	buf_reset(text);
	buf_str(text, buf_view(&out));
	buf_free(&out);
}

/* They were served; here they are files. */
static void as_served(struct buf *text)
{
	char dir[4200];

	snprintf(dir, sizeof(dir), "file://%s", folder);
	replace(text, dir, "http://127.0.0.1:18123");
	replace(text, "file://", "http://127.0.0.1:18123");
}

static void is_text(struct buf *text, const char *file, const char *name)
{
	struct buf want = BUF_INIT(1 << 20);

	read_file(file, &want);
	as_served(text);
	is_mem(text->p, text->n, want.p, want.n, "%s", name);
	buf_free(&want);
}

/* Blanks are not compared, nor what docs/testing.md lists. */
static void is_prose(struct buf *text, const char *file)
{
	static const char *const left_out[] = {
		"<::marker>",
		"\" width=\"300\" height=\"120\"> Frame btn",
		" ",
		"\n",
	};
	struct buf want = BUF_INIT(1 << 20);

	read_file(file, &want);
	for (size_t i = 0; i < ARRAY_LEN(left_out); i++) {
		replace(&want, left_out[i], "");
		replace(text, left_out[i], "");
	}
	is_mem(text->p, text->n, want.p, want.n, "%s, but for blanks", file);
	buf_free(&want);
}

static const struct json_caps caps = {16, 100000, 10000};

/* Visibility, clickable and the mark of each element; places depend on fonts. */
static void is_same_props(const struct props *got, const char *file)
{
	struct buf text = BUF_INIT(1 << 20);
	struct json_val all, key, v;
	struct json_error e;
	struct arena a;
	struct json doc;
	size_t n = 0;
	int it = 0;

	arena_init(&a, 16 << 20);
	read_file(file, &text);
	if (!ok(!json_parse(&doc, buf_view(&text), &caps, &a, &e), "%s is JSON", file))
		goto out;
	all = json_get(json_root(&doc), "extra_element_properties");
	while (json_next(all, &it, &key, &v)) {
		const struct props_row *row;
		bool clickable, mark;
		struct str bid;
		double visible;

		if (json_str(key, &a, &bid) ||
			json_bool(json_get(v, "clickable"), &clickable) ||
			json_bool(json_get(v, "set_of_marks"), &mark) ||
			json_double(json_get(v, "visibility"), &visible))
			break;
		row = props_find(got, bid);
		n += row && row->clickable == clickable &&
			(row->set_of_marks == PROPS_MARKED) == mark &&
			(row->visibility >= 0.5) == (visible >= 0.5) &&
			(row->bbox != NULL) ==
				(json_type(json_get(v, "bbox")) != JSON_NULL);
	}
	is_int(n, json_count(all), "elements of %s that are the same", file);
	is_int(got->n, json_count(all), "and no others");
out:
	buf_free(&text);
	arena_reset(&a);
}

static void test_recorded(const char *page)
{
	struct observe_options want = {.objects = true, .marks = true};
	char file[100];

	snprintf(file, sizeof(file), "%s.html", page);
	if (!go_file(folder, file) || !look(&want))
		return;
	snprintf(file, sizeof(file), "chrome156-%s.axtree.txt", page);
	is_text(&seen.text, file, file);
	is_view(seen.focused, "3", "the body is focused");
	ok(seen.picture.n > 8 && memcmp(seen.picture.p, "\x89PNG\r\n\x1a\n", 8) == 0,
		"there is a picture");
	ok(seen.marks.n > 8 && seen.marks.n != seen.picture.n, "and one with marks");
	snprintf(file, sizeof(file), "chrome156-%s.json", page);
	is_same_props(&seen.marked, file);
	want.view.visible_only = true;
	snprintf(file, sizeof(file), "chrome156-%s.visible.axtree.txt", page);
	if (look(&want))
		is_text(&seen.text, file, file);
	want = (struct observe_options){.visit = true};
	snprintf(file, sizeof(file), "chrome156-%s.text.txt", page);
	if (look(&want))
		is_prose(&seen.text, file);
	ok(!seen.axtree.n && !seen.props.n && !seen.marks.n,
		"no objects that were not wanted");
}

/* --- Pages that are in the way ---------------------------------------------------- */

/* Shows a page that is written here. */
static bool show(const char *html)
{
	char path[sizeof(own) + 20];
	FILE *f;

	snprintf(path, sizeof(path), "%s/page.html", own);
	f = fopen(path, "w");
	if (!ok(f != NULL, "%s is written", path))
		return false;
	fputs("<!DOCTYPE html><meta charset=utf-8>", f);
	fputs(html, f);
	fclose(f);
	return go_file(own, "page.html") && look(&(struct observe_options){0});
}

static void has(const char *text, const char *name)
{
	struct str all = buf_view(&seen.text);

	if (!ok(str_find(all, str_c(text)) < all.n, "%s", name))
		tap_bytes("text", all.p, all.n);
}

/* What a script of the page gives, which is a string. */
static void gives(const char *function, const char *want, const char *name)
{
	struct tab *t = browser_active_tab(&browser);
	struct json_val value;
	struct str s = {0};
	struct arena a;

	arena_init(&a, 1 << 20);
	if (ok(!tab_eval(
		       t, tab_main_frame(t), function, STR(""), in_time(), &a, &value) &&
			    !json_str(value, &a, &s),
		    "a script runs"))
		is_view(s, want, "%s", name);
	arena_reset(&a);
}

static void test_marks(void)
{
	if (!show("<title>T</title><body><p bid=own>a<form><input name=getAttribute>"
		  "<input name=shadowRoot value=x><input name=children><input "
		  "name=tagName>"
		  "</form><p aria-description='d\ne' aria-roledescription='r\ns' "
		  "tabindex=0>b"))
		return;
	has("[own] paragraph", "a bid of the page's own");
	has("textbox '' value='x'", "a form whose fields have the names of its members");
	has("roledescription='r\\ns'", "descriptions of several lines");
	gives("() => document.querySelectorAll('p')[1].getAttribute('aria-description') +"
	      " document.querySelectorAll('[aria-roledescription]').length",
		"d\ne1", "ARIA is as it was");
	gives("() => { const p = document.querySelectorAll('p')[1];"
	      " p.after(p.cloneNode(true)); return '' + p.getAttribute('bid') }",
		"10", "an element is copied");
	look(&(struct observe_options){0});
	has("[10] paragraph", "it keeps its bid");
	has("[11] paragraph", "the copy has one of its own");
	gives("() => Object.keys(window).filter(k => k.startsWith('browsergym')).join()",
		"browsergym_elem_counter,browsergym_frame_counter", "left in the page");
}

static void test_many_frames(void)
{
	if (!show("<body><script>for (let i = 0; i < 30; i++) { const f ="
		  " document.createElement('iframe'); f.srcdoc = '<p>f' + i; f.width = "
		  "20;"
		  " document.body.append(f) }</script>"))
		return;
	has("[aA] Iframe", "the 27th frame");
	has("[aA2] ", "what is in it");
	has("[aD2] ", "and in the last");
}

static void test_frames(void)
{
	if (!show("<body><iframe style='display:none' srcdoc='<p>none'></iframe>"
		  "<iframe sandbox srcdoc='<p>box'></iframe><div></div>"
		  "<iframe id=f srcdoc='<button autofocus>in</button>'></iframe>"
		  "<script>const r = document.querySelector('div').attachShadow({mode:"
		  " 'closed'}); r.innerHTML = '<iframe srcdoc=\"<p>shut\"></iframe>';"
		  " f.onload = () => { f.focus(); "
		  "f.contentDocument.querySelector('button')"
		  ".focus() }</script>"))
		return;
	has("paragraph ''", "a frame that may not run scripts");
	has("'box'", "its text");
	has("'shut'", "that of a frame in a closed shadow tree");
	has("[c3] button 'in'", "a frame");
	is_view(seen.focused, "c3", "what is focused in it");
}

static void test_text(void)
{
	if (!show("<title>t</title><p>a\u200bb\u00a0c <a href='data:text/plain,"
		  "0123456789012345678901234567890123456789012345678901234567890123'>x</"
		  "a>"
		  "<script>document.title = 'lone \\ud800 half';"
		  "document.body.append('\\udc00tail')</script>"))
		return;
	has("a\\u200bb\\xa0c", "characters that are not printable");
	has("lone \ufffd half", "half a character in a title");
	has("\ufffdtail", "and in a text");
}

static void test_unwilling(void)
{
	if (!show("<p>text<script>Document.prototype.querySelectorAll = () => {"
		  " throw Error('no') }</script>"))
		return;
	has("StaticText 'text'", "a page that does not let itself be marked");
	ok(seen.focused.n > 0, "...is, from a world that it does not reach");
	ok(seen.picture.n > 0, "there is a picture");
}

/* The last of all: it is not for others to see. */
static void test_busy(void)
{
	static const struct observe_options want;
	struct str said = STR("{\"expression\":\"setTimeout(() => { for (;;); })\"}");
	struct tab *t = browser_active_tab(&browser);
	int r;

	if (!go("about:blank"))
		return;
	ok(!tab_call(t, "Runtime.evaluate", said, in_time(), NULL, NULL),
		"a page is busy");
	r = observe_page(&browser, &want, clock_ms() + 300, &seen);
	is_int(r, -ETIMEDOUT, "it is not waited for longer than asked");
	ok(!seen.text.n && !seen.picture.n, "and nothing is seen");
	kill(launch.pid, SIGKILL);
	r = observe_page(&browser, &want, in_time(), &seen);
	is_int(r, ERR_CLOSED, "nor when the browser is gone");
}

static void remove_own(void)
{
	char path[sizeof(own) + 20];

	snprintf(path, sizeof(path), "%s/page.html", own);
	unlink(path);
	rmdir(own);
}

int main(void)
{
	static const char *const pages[] = {"page1", "form", "misc"};

	signal(SIGPIPE, SIG_IGN);
	page_observation_init(&seen);
	if (!mkdtemp(own) || !start())
		goto out;
	if (find_folder())
		for (size_t i = 0; i < ARRAY_LEN(pages); i++)
			test_recorded(pages[i]);
	else
		skip("recorded pages", "they are not here; set OD_DATA");
	test_marks();
	test_many_frames();
	test_frames();
	test_text();
	test_unwilling();
	test_busy();
out:
	page_observation_free(&seen);
	browser_free(&browser);
	launch_end(&launch);
	remove_own();
	return done_testing();
}
