/* The observations of browser actions: every member, and the content. */
#include "browser/action/answer.h"

#include "tests/tap.h"

static struct buf out = BUF_INIT(1 << 20);

static void is_answer(const struct browse_answer *a, const char *want, const char *name)
{
	buf_reset(&out);
	browse_answer_write(a, &out);
	is_view(buf_view(&out), want, "%s", name);
}

#define EXTRAS_FRONT(URL, KIND) \
	"\"extras\":{\"url\":\"" URL "\",\"trigger_by_action\":\"" KIND "\","

static void check_interactive(void)
{
	const struct str urls[] = {STR("http://a/"), STR("about:blank")};
	struct browse_answer a = {
		.url = urls[0],
		.action = STR("click('5')"),
		.screenshot = STR("png"),
		.marks = STR("abc"),
		.path = STR("/w/s.png"),
		.has_path_member = true,
		.urls = urls,
		.urls_n = 2,
		.active = 0,
		.axtree = STR("{\"nodes\":[]}"),
		.props = STR("{\"5\":{}}"),
		.focused = STR("5"),
		.text = STR("Root \xff"),
	};

	is_answer(&a,
		"{\"message\":\"Visited http://a/\",\"observation\":\"browse\","
		"\"content\":\"[Current URL: http://a/]\\n[Focused element bid: 5]\\n"
		"[Screenshot saved to: /w/s.png]\\n\\n[Action executed successfully.]\\n"
		"Accessibility tree of the COMPLETE webpage:\\n"
		"Note: [bid] is the unique alpha-numeric identifier at the beginning of "
		"lines for each element in the AXTree. Always use bid to refer to "
		"elements "
		"in your actions.\\n"
		"============== BEGIN accessibility tree ==============\\n"
		"Root \xef\xbf\xbd\\n"
		"============== END accessibility tree ==============\\n\"," EXTRAS_FRONT(
			"http://a/",
			"browse_interactive") "\"screenshot\":\"data:image/"
					      "png;base64,cG5n\","
					      "\"screenshot_path\":\"/w/s.png\","
					      "\"set_of_marks\":\"data:image/"
					      "png;base64,YWJj\","
					      "\"error\":false,"
					      "\"open_pages_urls\":[\"http://a/"
					      "\",\"about:blank\"],"
					      "\"active_page_index\":0,\"dom_object\":{},"
					      "\"axtree_object\":{\"nodes\":[]},"
					      "\"extra_element_properties\":{\"5\":{}},"
					      "\"last_browser_action\":\"click('5')\","
					      "\"last_browser_action_error\":\"\","
					      "\"focused_element_bid\":\"5\"}}",
		"an action");
	a.error = STR("ValueError: x\n");
	a.focused = str_make(NULL, 0);
	buf_reset(&out);
	browse_answer_write(&a, &out);
	ok(str_find(buf_view(&out), STR("\"screenshot_path\":\"/w/s.png\"")) < out.n,
		"a client that knows screenshot_path gets it");
	a.has_path_member = false;
	buf_reset(&out);
	browse_answer_write(&a, &out);
	ok(str_find(buf_view(&out), STR("screenshot_path")) == out.n,
		"a client of an unknown age gets no screenshot_path");
	ok(str_find(buf_view(&out), STR("[Focused element bid: None]")) < out.n,
		"nothing that has a bid has the focus");
	ok(str_find(buf_view(&out), STR("\"focused_element_bid\":null")) < out.n,
		"...null");
	ok(str_find(buf_view(&out),
		   STR("================ BEGIN error message ===============\\n"
		       "The following error occurred when executing the last "
		       "action:\\nValueError: x\\n\\n"
		       "================ END error message ===============\\n"
		       "Accessibility tree")) < out.n,
		"an error, and the tree");
}

static void check_visit(void)
{
	struct browse_answer a = {.visit = true, .url = STR("u"), .text = STR("page")};

	buf_reset(&out);
	browse_answer_write(&a, &out);
	ok(str_find(buf_view(&out),
		   STR("\"content\":\"[Current URL: u]\\n"
		       "============== BEGIN webpage content ==============\\npage\\n"
		       "============== END webpage content ==============\\n\"")) < out.n,
		"a visit");
	a.error = STR("E");
	buf_reset(&out);
	browse_answer_write(&a, &out);
	ok(str_find(buf_view(&out), STR("trying to visit the URL:\\nE\\n====")) < out.n,
		"...and its error");
}

static void check_others(void)
{
	buf_reset(&out);
	browse_answer_put_failure(false, STR("noop()"), STR("gone"), &out);
	is_view(buf_view(&out),
		"{\"message\":\"Visited \",\"observation\":\"browse\",\"content\":"
		"\"[Current URL: ]\\n[Focused element bid: ]\\n\\n"
		"================ BEGIN error message ===============\\n"
		"The following error occurred when executing the last action:\\ngone\\n"
		"================ END error message ===============\\n\\n"
		"[Error encountered when processing the accessibility tree: "
		"'nodes']\"," EXTRAS_FRONT(
			"", "browse_interactive") "\"screenshot\":\"\","
						  "\"set_of_marks\":\"\",\"error\":true,"
						  "\"open_pages_urls\":[],\"active_page_"
						  "index\":-1,\"dom_object\":{},"
						  "\"axtree_object\":{},\"extra_element_"
						  "properties\":{},"
						  "\"last_browser_action\":\"\",\"last_"
						  "browser_action_error\":\"gone\","
						  "\"focused_element_bid\":\"\"}}",
		"a failure");
	buf_reset(&out);
	browse_answer_put_failure(true, STR("http://x"), STR("gone"), &out);
	ok(str_find(buf_view(&out), STR("\"url\":\"http://x\"")) < out.n,
		"...of a visit tells the URL");
	buf_reset(&out);
	browse_answer_put_download(STR("goto(\"u\")"), STR("/w/file_1"), &out);
	is_view(buf_view(&out),
		"{\"message\":\"Downloaded the file at location: /w/file_1\","
		"\"observation\":\"download\",\"content\":\"Execution of the previous "
		"action "
		"goto(\\\"u\\\") resulted in a file download. The downloaded file is "
		"saved "
		"at location: /w/file_1\",\"extras\":{\"file_path\":\"/w/file_1\"}}",
		"a download");
	buf_free(&out);
	out = (struct buf)BUF_INIT(64);
	browse_answer_put_download(STR("x"), STR("y"), &out);
	is_int(out.err, ERR_LIMIT, "no room");
}

int main(void)
{
	check_interactive();
	check_visit();
	check_others();
	buf_free(&out);
	return done_testing();
}
