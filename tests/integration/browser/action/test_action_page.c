/* Primitives of pages, tabs, places and keys, and whole actions, in a real browser. */
#include "tests/support/browser_run.h"

/* --- Scrolling, files -------------------------------------------------------------- */

static void test_scroll(void)
{
	show("<div style='height:5000px;width:4000px'>tall</div>"
	     "<script>addEventListener('wheel', e => note(e.deltaX, e.deltaY))</script>");
	act("scroll(0, 300)", "");
	see("document.title + ' ' + scrollY", "0,300 300");
	act("scroll(-50.5, 1e2)", "");
	see("document.title + ' ' + scrollY", "0,300 -50.5,100 400");
	act("scroll('a', 1)", "Error: Mouse.wheel: delta_x: expected float, got string");
	act("scroll(1, [])", "Error: Mouse.wheel: delta_y: expected float, got object");
	act("scroll(None, 1)",
		"Error: Mouse.wheel: delta_x: expected float, got undefined");
	act("scroll(1, True)",
		"Error: Mouse.wheel: delta_y: expected float, got boolean");
}

static void test_upload(void)
{
	char file[128], other[128], text[512];

	snprintf(file, sizeof(file), "%s/file.txt", t.folder);
	snprintf(other, sizeof(other), "%s/other.txt", t.folder);
	write_file(file, "hello");
	write_file(other, "you");
	show("<input bid=1 type=file onchange='note(files.length, files.length && "
	     "files[0].name)'><input bid=2 type=file multiple "
	     "onchange='note(files.length)'>"
	     "<button bid=3>No chooser</button>");
	snprintf(text, sizeof(text), "upload_file('1', '%s')", file);
	act(text, "");
	see("document.title", "1,file.txt");
	snprintf(text, sizeof(text), "upload_file('2', ['%s', '%s'])", file, other);
	act(text, "");
	see("document.title", "1,file.txt 2");
	act("upload_file('2', [])", "");
	see("document.querySelectorAll('input')[1].files.length", "0");
	snprintf(text, sizeof(text), "upload_file('1', ['%s', '%s'])", file, other);
	act(text,
		"Error: FileChooser.set_files: Error: Non-multiple file input can only "
		"accept single file");
	act("upload_file('1', '/nonexistent')",
		"Error: FileChooser.set_files: ENOENT: no such file or directory, access "
		"'/nonexistent'");
	act("upload_file('1', 5)", "TypeError: 'int' object is not iterable");
	snprintf(text, sizeof(text), "upload_file('3', '%s')", file);
	act(text,
		"TimeoutError: Timeout 3000ms exceeded while waiting for event "
		"\"filechooser\"");
}

/* --- Pages and tabs ---------------------------------------------------------------- */

static void test_goto(void)
{
	char text[256], want[512];

	act("goto('about:blank')", "");
	see("location.href", "about:blank");
	act("goto('foo')",
		"Error: Page.goto: Protocol error (Page.navigate): Cannot navigate to "
		"invalid URL\nCall log:\n  - navigating to \"foo\", waiting until "
		"\"load\"\n");
	act("goto('127.0.0.1:1/x')",
		"Error: Page.goto: net::ERR_UNSAFE_PORT at http://127.0.0.1:1/x\n"
		"Call log:\n  - navigating to \"http://127.0.0.1:1/x\", waiting until "
		"\"load\"\n");
	act("goto('file:///nonexistent')",
		"Error: Page.goto: net::ERR_FILE_NOT_FOUND at file:///nonexistent\n"
		"Call log:\n  - navigating to \"file:///nonexistent\", waiting until "
		"\"load\"\n");
	act("goto('about:blank')\ngo_back()",
		"Error: Page.go_back: net::ERR_FILE_NOT_FOUND\nCall log:\n"
		"  - waiting for navigation until \"load\"\n");
	act("goto('javascript:alert(1)')",
		"Error: Page.goto: net::ERR_ABORTED at javascript:alert(1)\nCall log:\n"
		"  - navigating to \"javascript:alert(1)\", waiting until \"load\"\n");
	act("goto(5)", "Error: Page.goto: url: expected string, got number");
	show("<h1 bid=4>one</h1>");
	snprintf(text, sizeof(text), "file://%s/%d.html", t.folder, t.pages);
	show("<h1 bid=4>two</h1>");
	act("go_back()", "");
	see("location.href", text);
	act("go_forward()\ngo_back()", "");
	see("document.querySelector('h1').textContent", "one");
	snprintf(want, sizeof(want), "goto('%s#part')", text);
	act(want, "");
	see("location.hash", "#part");
	act("go_back()\ngo_forward()\ngo_forward()", "");
	see("location.hash", "#part");
}

static void test_tabs(void)
{
	show("<a bid=4 href='about:blank#new' target=_blank>new</a>");
	act("click('4')", "");
	see("location.href", "about:blank#new");
	is_int(browser_count_tabs(&t.browser), 2, "a click has opened a tab");
	act("tab_focus(0)", "");
	see("location.protocol", "file:");
	act("tab_focus(-1)", "");
	see("location.href", "about:blank#new");
	act("tab_focus(7)", "IndexError: list index out of range");
	act("tab_focus(-3)", "IndexError: list index out of range");
	act("tab_focus('0')",
		"TypeError: list indices must be integers or slices, not str");
	act("tab_focus(0.0)",
		"TypeError: list indices must be integers or slices, not float");
	act("tab_close()", "");
	see("location.protocol", "file:");
	act("new_tab()", "");
	see("location.href", "about:blank");
	is_int(browser_count_tabs(&t.browser), 2, "a new tab");
	act("tab_close()\ntab_close()", "");
	is_int(browser_count_tabs(&t.browser), 1, "there is always one");
	see("location.href", "about:blank");
}

/* --- Places and keys --------------------------------------------------------------- */

static void test_places_and_keys(void)
{
	static const char page[] =
		"<div style='position:absolute;width:100px;height:100px'"
		" onclick='note(event.clientX, event.clientY)' ondblclick='note(\"dbl\")'"
		" onmousedown='note(\"down\", event.button)' onmouseup='note(\"up\")'>x"
		"</div><input id=field style='position:absolute;top:200px;width:200px'>";

	show(page);
	act("mouse_click(50, 50)", "NameError: Invalid action type 'mouse_click'.");
	t.browser.by_place = true;
	act("mouse_click(50, 60)", "");
	see("document.title", "down,0 up 50,60");
	show(page);
	act("mouse_dblclick(50, 60)", "");
	see("document.title", "down,0 up 50,60 down,0 up 50,60 dbl");
	show(page);
	act("mouse_down(10, 10, 'middle')\nmouse_up(20, 20, 'middle')", "");
	see("document.title", "down,1 up");
	act("mouse_click(100, 210)\nkeyboard_type('Ab \xc3\xa9!')", "");
	see("field.value", "Ab \xc3\xa9!");
	act("keyboard_press('Control+a')\nkeyboard_insert_text('new')", "");
	see("field.value", "new");
	act("keyboard_down('Shift')\nkeyboard_press('a')\nkeyboard_up('Shift')\n"
	    "keyboard_press('a')",
		"");
	see("field.value", "newAa");
	act("keyboard_press('Foo')", "Error: Keyboard.press: Unknown key: \"Foo\"");
	act("mouse_move('x', 1)", "Error: Mouse.move: x: expected float, got string");
	show("<div draggable=true style='position:absolute;width:80px;height:40px'"
	     " ondragstart='event.dataTransfer.setData(\"text/plain\", \"p\")'>drag</div>"
	     "<div style='position:absolute;top:100px;width:80px;height:80px'"
	     " ondragover='event.preventDefault()' ondrop='event.preventDefault();"
	     " note(event.dataTransfer.getData(\"text/plain\"))'>drop</div>");
	act("mouse_drag_and_drop(10, 10, 40, 140)", "");
	see("document.title", "p");
	t.browser.by_place = false;
}

/* --- The whole ---------------------------------------------------------------------- */

static void test_texts(void)
{
	show("<input bid=1><button bid=2 onclick='note(confirm(\"sure?\"),"
	     " prompt(\"what?\"))'>Ask</button>"
	     "<button bid=3 onclick='location = \"about:blank#gone\"'>Go</button>");
	act("", "ValueError: Received an empty action.");
	act("fill('1', 'x')\nfill('1', '\\N{BULLET}')",
		"ValueError: \\N{...} in a string is not known here; \\u and \\U are.");
	see("document.querySelector('input').value", "");
	act("fill('1', '\\ud83d\\ude00')", "");
	see("document.querySelector('input').value", "\xf0\x9f\x98\x80");
	act("clear('1')", "");
	act("fill('1', 'x')\nfoo()", "NameError: Invalid action type 'foo'.");
	see("document.querySelector('input').value", "");
	act("fill('1', 'x')\nclick('99')\nfill('1', 'y')",
		"ValueError: Could not find element with bid \"99\"");
	see("document.querySelector('input').value", "x");
	act("fill('1', 'z')\nclick(bid='2', bid='2')",
		"SyntaxError: keyword argument repeated: bid");
	act("click('2')", "");
	see("document.title", "false,");
	act("click('3')", "");
	see("location.href", "about:blank#gone");
	act("noop('abc')",
		"Error: Page.wait_for_timeout: wait_timeout: expected float, got string");
	act("noop(-5)\nnoop(1.5)\nsend_msg_to_user('hi')\nreport_infeasible('no')", "");
	act("send_msg_to_user(5)", "ValueError: Forbidden value: 5 is not a string");
	act("go_back(1)",
		"TypeError: go_back() takes 0 positional arguments but 1 was given");
}

/* A page that never answers holds nobody up for long. */
static void test_stuck(void)
{
	uint64_t from;

	show("<button bid=1>B</button><script>setTimeout(() => { for (;;); }, 300)"
	     "</script>");
	act("noop(500)", "");
	from = clock_ms();
	act("click('1')", "TimeoutError: Locator.click: Timeout 500ms exceeded....");
	printf("# a page that is stuck was given up after %d ms\n",
		(int)(clock_ms() - from));
	act("new_tab()", "");
	see("location.href", "about:blank");
}

static void tests(void)
{
	test_scroll();
	test_upload();
	test_goto();
	test_tabs();
	test_places_and_keys();
	test_texts();
	test_stuck();
}

int main(void)
{
	return run_with_browser(tests);
}
