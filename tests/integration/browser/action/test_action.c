/* Primitives of single elements, done in a real browser. */
#include "tests/support/browser_run.h"

/* --- Clicks ------------------------------------------------------------------------ */

static void test_click(void)
{
	show("<style>button { width: 200px; height: 40px }</style>"
	     "<button bid=5 onclick='note(event.type, event.button, event.detail)'"
	     " ondblclick='note(event.type, event.detail)'"
	     " onauxclick='note(event.type, event.button)'"
	     " oncontextmenu='note(event.type); return false'"
	     " onmouseover='note(event.type)'>Here</button>"
	     "<button bid=6 onclick='note(event.altKey, event.ctrlKey, event.metaKey,"
	     " event.shiftKey)'>Mods</button>"
	     "<div bid=7 style='position:absolute;top:3000px;width:50px;height:50px'"
	     " onclick='note(\"far\")'>Far</div>");
	act("hover('5')", "");
	see("document.title", "mouseover");
	act("click('5')", "");
	see("document.title", "mouseover click,0,1");
	act("click('5', button='middle')", "");
	see("document.title", "mouseover click,0,1 auxclick,1");
	act("click('5', 'right')", "");
	see("document.title", "mouseover click,0,1 auxclick,1 contextmenu auxclick,2");
	show("<button bid=5 onclick='note(event.type, event.detail)'"
	     " ondblclick='note(event.type, event.detail)'>Here</button>"
	     "<button bid=6 onclick='note(event.altKey, event.ctrlKey, event.metaKey,"
	     " event.shiftKey)'>Mods</button>"
	     "<div bid=7 style='position:absolute;top:3000px;width:50px;height:50px'"
	     " onclick='note(\"far\")'>Far</div>");
	act("dblclick('5')", "");
	see("document.title", "click,1 click,2 dblclick,2");
	act("click('6', modifiers=['Alt', 'Shift'])", "");
	see("document.title", "click,1 click,2 dblclick,2 true,false,false,true");
	act("click('7')", "");
	see("document.title", "click,1 click,2 dblclick,2 true,false,false,true far");
	act("click('5', 'up')",
		"Error: Locator.click: button: expected one of (left|right|middle)");
	act("click('5', modifiers='Alt')",
		"Error: Locator.click: modifiers: expected array, got string");
	act("click('5', modifiers=['Alt', 'x'])",
		"Error: Locator.click: modifiers[1]: expected one of "
		"(Alt|Control|ControlOrMeta|Meta|Shift)");
	act("click(['5'])", "ValueError: expected a string, got ['5']");
	act("click('99')", "ValueError: Could not find element with bid \"99\"");
	act("click('a1')", "ValueError: Could not find element with bid \"a1\"");
	act("click('\"]')", "ValueError: Could not find element with bid \"\"]\"");
}

/* The whole text of what could not be clicked, as the reference has it. */
static void test_refusals(void)
{
	show("<button bid=7 id=dis disabled>Disabled</button>"
	     "<div style='position:relative;width:100px;height:40px'>"
	     "<button bid=9 style='width:100px;height:40px'>Covered</button>"
	     "<div bid=10 style='position:absolute;inset:0'>cover</div></div>"
	     "<button bid=11 style='visibility:hidden'>Hidden</button>"
	     "<fieldset disabled><input bid=12></fieldset>"
	     "<div aria-disabled=true><button bid=13>Aria</button></div>");
	act("click('7')",
		"TimeoutError: Locator.click: Timeout 500ms exceeded.\nCall log:\n"
		"  - waiting for get_by_test_id(\"7\")\n"
		"    - locator resolved to <button bid=\"7\" id=\"dis\" disabled>"
		"Disabled</button>\n"
		"  - attempting click action\n"
		"    2 \xc3\x97 waiting for element to be visible, enabled and stable\n"
		"      - element is not enabled\n"
		"    - retrying click action\n"
		"    - waiting 20ms\n"
		"    2 \xc3\x97 waiting for element to be visible, enabled and stable\n"
		"      - element is not enabled\n"
		"    - retrying click action\n"
		"      - waiting 100ms\n"
		"    - waiting for element to be visible, enabled and stable\n"
		"    - element is not enabled\n"
		"  - retrying click action\n"
		"    - waiting 500ms\n");
	act("click('9')",
		"TimeoutError: Locator.click: Timeout 500ms exceeded.\nCall log:\n"
		"  - waiting for get_by_test_id(\"9\")\n"
		"    - locator resolved to <button bid=\"9\">Covered</button>\n"
		"  - attempting click action\n"
		"    2 \xc3\x97 waiting for element to be visible, enabled and stable\n"
		"      - element is visible, enabled and stable\n"
		"      - scrolling into view if needed\n"
		"      - done scrolling\n"
		"      - <div bid=\"10\">cover</div> intercepts pointer events\n"
		"    - retrying click action\n"
		"    - waiting 20ms\n...");
	act("hover('11')",
		"TimeoutError: Locator.hover: Timeout 500ms exceeded.\nCall log:\n"
		"  - waiting for get_by_test_id(\"11\")\n"
		"    - locator resolved to <button bid=\"11\">Hidden</button>\n"
		"  - attempting hover action\n"
		"    2 \xc3\x97 waiting for element to be visible and stable\n"
		"      - element is not visible\n...");
	act("fill('12', 'x')", "TimeoutError: Locator.fill: Timeout 500ms exceeded....");
	act("click('13')", "TimeoutError: Locator.click: Timeout 500ms exceeded....");
}

/* Elements that become what they have to be while it is tried. */
static void test_patience(void)
{
	show("<button bid=5 disabled onclick='note(\"clicked\")'>Soon</button>"
	     "<div id=moving bid=6 style='position:absolute;top:100px;width:50px;"
	     "height:50px' onclick='note(\"caught\")'>Move</div>"
	     "<script>setTimeout(() => document.querySelector('button').disabled = false,"
	     " 150);"
	     "let x = 0, mover = setInterval(() => { moving.style.left = ++x + 'px';"
	     " if (x > 12) clearInterval(mover) }, 10)</script>");
	act("click('5')\nclick('6')", "");
	see("document.title", "clicked caught");
	show("<div id=host><button bid=5>Old</button></div>"
	     "<script>let n = 0, renew = setInterval(() => {"
	     " host.innerHTML = '<button bid=5 onclick=note(\"new\")>New</button>';"
	     " if (++n > 10) clearInterval(renew) }, 5)</script>");
	act("click('5')", "");
	see("document.title", "new");
}

/* --- Frames and shadow trees ------------------------------------------------------- */

static void test_places(void)
{
	show("<iframe bid=a style='margin:30px;width:400px;height:300px' srcdoc=\""
	     "<body style='margin:20px'><button bid=a4 "
	     "onclick='parent.note(&quot;in&quot;)'>"
	     "In</button><iframe bid=aa width=200 height=100 srcdoc=&quot;"
	     "<input bid=aa2><input bid=aa3 type=checkbox onclick='top.note(6)'>&quot;>"
	     "</iframe>\"></iframe>"
	     "<div id=host bid=8></div><script>"
	     "host.attachShadow({mode: 'open'}).innerHTML = "
	     "'<button bid=9 onclick=note(7)>Shadow</button>'</script>");
	act("click('a4')", "");
	act("click('aa3')", "");
	act("click('9')", "");
	see("document.title", "in 6 7");
	act("fill('aa2', 'deep')", "");
	see("document.querySelector('iframe').contentDocument.querySelector('iframe')"
	    ".contentDocument.querySelector('input').value",
		"deep");
	act("click('aA3')", "ValueError: Could not find element with bid \"aA3\"");
	act("click('84')", "ValueError: Could not find element with bid \"84\"");
	/* What is far away, and foreign, is not drawn before it is scrolled to. */
	show("<div style='height:4000px'></div><iframe bid=a src=\"data:text/html,"
	     "<button bid=a4 onclick='top.postMessage(8, "
	     "%22*%22)'>Far</button>\"></iframe>"
	     "<script>onmessage = e => note(e.data)</script>");
	act("click('a4')", "");
	see("new Promise(done => { const look = () => document.title"
	    " ? done(document.title) : setTimeout(look, 5); look() })",
		"8");
	show("<div style='position:relative'><iframe bid=a width=300 height=100 "
	     "srcdoc='<button bid=a4>In</button>'></iframe>"
	     "<div style='position:absolute;inset:0'>over it</div></div>");
	act("click('a4')", "TimeoutError: Locator.click: Timeout 500ms exceeded....");
}

/* --- Forms ------------------------------------------------------------------------- */

static void test_fill(void)
{
	show("<input bid=1 value=old oninput='note(value)' onchange='note(\"changed\")'>"
	     "<textarea bid=2>old</textarea><div bid=3 contenteditable>old</div>"
	     "<input bid=4 type=date onchange='note(value)'>"
	     "<input bid=5 type=number><input bid=6 type=checkbox>"
	     "<label bid=7>Name <input id=named></label>"
	     "<input bid=8 type=color><input bid=9 readonly><button bid=10>B</button>"
	     "<select bid=11></select><input bid=12 maxlength=3>");
	act("fill('1', 'new')", "");
	see("document.title + document.activeElement.value", "newnew");
	act("fill('2', 'two\\nlines')", "");
	see("document.querySelector('textarea').value", "two\nlines");
	act("fill('3', 'rich \"text\" \xe2\x82\xac\xf0\x9f\x98\x80')", "");
	see("document.querySelector('[contenteditable]').textContent",
		"rich \"text\" \xe2\x82\xac\xf0\x9f\x98\x80");
	act("fill('4', '2024-02-29')", "");
	see("document.title", "new changed 2024-02-29");
	act("fill('4', '29.2.')", "Error: Locator.fill: Error: Malformed value\n...");
	act("fill('5', '12.5')", "");
	see("document.querySelector('[type=number]').value", "12.5");
	act("fill('5', 'x')",
		"Error: Locator.fill: Error: Cannot type text into "
		"input[type=number]\n...");
	act("fill('6', 'x')",
		"Error: Locator.fill: Error: Input of type \"checkbox\" "
		"cannot be filled\n...");
	act("fill('7', 'Ann')", "");
	see("named.value", "Ann");
	act("fill('8', '#FFaa00')", "");
	see("document.querySelector('[type=color]').value", "#ffaa00");
	act("fill('9', 'x')", "TimeoutError: Locator.fill: Timeout 500ms exceeded....");
	act("fill('10', 'x')",
		"Error: Locator.fill: Error: Element is not an <input>, <textarea>, "
		"<select> or [contenteditable] and does not have a role allowing "
		"[aria-readonly]\nCall log:\n"
		"  - waiting for get_by_test_id(\"10\")\n"
		"    - locator resolved to <button bid=\"10\">B</button>\n"
		"    - fill(\"x\")\n"
		"  - attempting fill action\n"
		"    - waiting for element to be visible, enabled and editable\n");
	act("fill('11', 'x')",
		"Error: Locator.fill: Error: Element is not an <input>, "
		"<textarea> or [contenteditable] element\n...");
	act("fill('1', 5)", "Error: Locator.fill: value: expected string, got number");
	act("clear('1')\nclear('2')\nclear('3')", "");
	see("document.querySelector('input').value + '|' + "
	    "document.querySelector('textarea').value + '|' + "
	    "document.querySelector('[contenteditable]').textContent",
		"||");
	act("fill('12', 'abcdef')", "");
	see("document.querySelector('[maxlength]').value", "abc");
}

static void test_select(void)
{
	show("<select bid=1 multiple oninput='note(\"in\")' onchange='note(\"ch\")'>"
	     "<option value=r>Red<option value=g>Green<option value=b>Blue</select>"
	     "<select bid=2><option value=1>One<option value=2>Two  words"
	     "<option value=3 disabled>Three</select><button bid=3>B</button>");
	act("select_option('1', ['r', 'Blue'])", "");
	see("[...document.querySelector('select').selectedOptions].map(o => o.value) + "
	    "document.title",
		"r,bin ch");
	act("select_option('2', 'Two words')", "");
	see("document.querySelectorAll('select')[1].value", "2");
	act("select_option('1', 'nope')",
		"TimeoutError: Locator.select_option: Timeout 500ms exceeded.\n"
		"Call log:\n"
		"  - waiting for get_by_test_id(\"1\")\n"
		"    - locator resolved to <select bid=\"1\" multiple "
		"oninput=\"note(\"in\")\" "
		"onchange=\"note(\"ch\")\">\xe2\x80\xa6</select>\n"
		"  - attempting select option action\n"
		"    2 \xc3\x97 waiting for element to be visible and enabled\n"
		"      - did not find some options\n"
		"    - retrying select option action\n"
		"    - waiting 20ms\n"
		"    2 \xc3\x97 waiting for element to be visible and enabled\n"
		"      - did not find some options\n"
		"    - retrying select option action\n"
		"      - waiting 100ms\n"
		"    - waiting for element to be visible and enabled\n"
		"    - did not find some options\n"
		"  - retrying select option action\n"
		"    - waiting 500ms\n");
	act("select_option('2', '3')",
		"TimeoutError: Locator.select_option: Timeout 500ms exceeded....");
	act("select_option('3', 'x')",
		"Error: Locator.select_option: Error: Element is "
		"not a <select> element\n...");
	act("select_option('1', 5)", "TypeError: 'int' object is not iterable");
	act("select_option('1', ['r', 5])",
		"Error: Locator.select_option: options[1]."
		"value_or_label: expected string, got number");
	act("select_option('1', [])", "");
	see("document.querySelector('select').selectedOptions.length", "0");
}

/* --- Keys -------------------------------------------------------------------------- */

static void test_press(void)
{
	show("<input bid=1 value=abc onkeydown='note(key = event.key, event.code,"
	     " event.keyCode, event.shiftKey)'><textarea bid=2></textarea>"
	     "<form onsubmit='note(\"sent\"); return false'><input bid=3></form>");
	act("press('1', 'Backspace')", "");
	see("document.querySelector('input').value + '/' + document.title",
		"abc/Backspace,Backspace,8,false");
	act("press('1', 'End')\npress('1', 'Backspace')\npress('1', 'Shift+z')", "");
	see("document.querySelector('input').value", "abZ");
	act("press('1', 'Control+a')\npress('1', 'Delete')", "");
	see("document.querySelector('input').value", "");
	act("press('2', 'a')\npress('2', 'Enter')\npress('2', '+')\npress('2', '!')", "");
	see("document.querySelector('textarea').value", "a\n+!");
	act("press('3', 'Enter')", "");
	see("document.title.endsWith('sent')", "true");
	act("press('3', 'Foo')",
		"Error: Locator.press: Unknown key: \"Foo\"\nCall log:\n"
		"  - waiting for get_by_test_id(\"3\")\n"
		"    - locator resolved to <input bid=\"3\"/>\n"
		"  - elementHandle.press(\"Foo\")\n");
	act("press('3', 'Shift+Foo')\npress('3', 'x')",
		"Error: Locator.press: Unknown key: \"Foo\"\n...");
	act("press('3', 'x')", "");
	see("document.forms[0][0].value", "x");
	act("press('3', 7)", "Error: Locator.press: key: expected string, got number");
	act("focus('2')", "");
	see("document.activeElement.nodeName", "TEXTAREA");
}

/* --- Dragging ---------------------------------------------------------------------- */

static void test_drag(void)
{
	show("<div bid=1 draggable=true style='width:80px;height:40px;background:red'"
	     " ondragstart='event.dataTransfer.setData(\"text/plain\", \"load\")'"
	     " ondragend='note(\"end\")'>drag</div>"
	     "<div bid=2 style='width:80px;height:80px;background:blue'"
	     " ondragover='event.preventDefault()'"
	     " ondrop='event.preventDefault();"
	     " note(event.dataTransfer.getData(\"text/plain\"))'>drop</div>"
	     "<div bid=3 style='width:80px;height:40px' onmousedown='note(\"down\")'>a"
	     "</div><div bid=4 style='width:80px;height:40px' onmouseup='note(\"up\")'>b"
	     "</div><div bid=5 style='width:40px;height:40px' onclick='note(\"free\")'>c"
	     "</div>");
	act("drag_and_drop('1', '2')", "");
	see("document.title", "load end");
	act("drag_and_drop('3', '4')", "");
	see("document.title", "load end down up");
	act("drag_and_drop('3', '77')",
		"ValueError: Could not find element with bid \"77\"");
	act("click('5')", "");
	see("document.title", "load end down up down free");
}

static void tests(void)
{
	test_click();
	test_refusals();
	test_patience();
	test_places();
	test_fill();
	test_select();
	test_press();
	test_drag();
}

int main(void)
{
	return run_with_browser(tests);
}
