/*
 * The part of a browser action that runs in the page: one function, called on an element
 * in an isolated world. The page can neither see the function nor change the objects
 * that it uses. The result is a word: "done", or the reason why not. An exception ends
 * the action.
 */
function (what, ...args) {
	const TYPED = ["", "email", "number", "password", "search", "tel", "text", "url"];
	const SET = ["color", "date", "time", "datetime-local", "month", "range", "week"];
	const READONLY_ROLES = ["checkbox", "combobox", "grid", "gridcell", "listbox",
		"radiogroup", "slider", "spinbutton", "textbox", "columnheader", "rowheader",
		"searchbox", "switch", "treegrid"];
	const FIELDS = "input, textarea, select";

	/* In a form and in the document, elements hide members that have their names. */
	const get = (e, name) => Reflect.get(Object.getPrototypeOf(e), name, e);
	const call = (e, name, ...args) => get(e, name).apply(e, args);
	const rich = (e) => get(e, "isContentEditable");

	const up = (e) => {
		const above = get(e, "parentNode");
		return get(e, "assignedSlot") || get(e, "parentElement") ||
			(above instanceof ShadowRoot && above.host) || null;
	};

	const cut = (text, n) => text.length > n ? text.slice(0, n - 1) + "\u2026" : text;
	const space = (text) => text.replace(/\s+/g, " ").trim();

	/* Describes e in one line, for people. */
	function show(e) {
		const name = get(e, "nodeName").toLowerCase();
		const flags = ["checked", "selected", "disabled", "readonly", "multiple"];
		const attributes = [...get(e, "attributes")]
			.filter((a) => a.name !== "style")
			.map((a) => !a.value && flags.includes(a.name) ? " " + a.name
				: ` ${a.name}="${a.value}"`)
			.sort((a, b) => a.length - b.length);
		const head = `<${name}` + cut(attributes.join(""), 500);
		const nodes = [...get(e, "childNodes")];
		const only = nodes.length <= 5 && nodes.every((n) => get(n, "nodeType") === 3);
		const text = only ? cut(get(e, "textContent"), 50) : "\u2026";
		const empty = /^(area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/;
		return (empty.test(name) ? head + "/>" : `${head}>${text}</${name}>`)
			.replace(/\n/g, "\u21b5").replace(/\t/g, "\u21c6");
	}

	/* The first element that matches, also in open shadow trees. */
	function find(root, selector) {
		const found = call(root, "querySelector", selector);
		if (found)
			return found;
		for (const e of call(root, "querySelectorAll", "*")) {
			const shadow = get(e, "shadowRoot");
			const inner = shadow && find(shadow, selector);
			if (inner)
				return inner;
		}
		return null;
	}

	/* The control of e: that of a label, or the control that e is a part of. */
	function control(e) {
		if (call(e, "matches", FIELDS) || rich(e))
			return e;
		e = call(e, "closest", "button, [role=button], [role=checkbox], [role=radio]") || e;
		if (call(e, "matches", "a, button, [role=link], [role=button], [role=checkbox], [role=radio]"))
			return e;
		const label = call(e, "closest", "label");
		return label && label.control || e;
	}

	function visible(e) {
		const style = getComputedStyle(e);
		if (style.display === "contents")
			return [...get(e, "childNodes")].some((n) => get(n, "nodeType") === 1 ?
				visible(n) : get(n, "nodeType") === 3 && shown(n));
		if (!call(e, "checkVisibility", {visibilityProperty: true}))
			return false;
		const box = call(e, "getBoundingClientRect");
		return box.width > 0 && box.height > 0;
	}

	function shown(text) {
		const range = new Range();
		range.selectNode(text);
		const box = range.getBoundingClientRect();
		return box.width > 0 && box.height > 0;
	}

	function enabled(e) {
		if (call(e, "matches", "button:disabled, input:disabled, select:disabled, " +
			"textarea:disabled, option:disabled, optgroup:disabled"))
			return false;
		for (; e; e = up(e)) {
			const said = call(e, "getAttribute", "aria-disabled");
			if (said === "true" || said === "false")
				return said === "false";
		}
		return true;
	}

	function editable(e) {
		if (call(e, "matches", FIELDS))
			return enabled(e) && !e.hasAttribute("readonly");
		if (rich(e))
			return enabled(e);
		if (!READONLY_ROLES.includes(call(e, "getAttribute", "role")))
			throw new Error("Element is not an <input>, <textarea>, <select> or " +
				"[contenteditable] and does not have a role allowing [aria-readonly]");
		return enabled(e) && call(e, "getAttribute", "aria-readonly") !== "true";
	}

	/* Frames that are not visible are not drawn, so a timer ends the wait. */
	const frame = () => new Promise((done) => {
		requestAnimationFrame(done);
		setTimeout(done, 100);
	});

	async function place(e) {
		await frame();
		const box = call(e, "getBoundingClientRect");
		return [box.x, box.y, box.width, box.height].join();
	}

	async function stable(e) {
		return await place(e) === await place(e);
	}

	/* Returns the first state that is missing, or "done". */
	async function check(e, states) {
		if (!get(e, "isConnected"))
			return "detached";
		if (states.includes("stable") && !await stable(e))
			return "stable";
		for (const state of states)
			if ((state === "visible" && !visible(e)) ||
				(state === "enabled" && !enabled(control(e))) ||
				(state === "editable" && !editable(control(e))))
				return state;
		return "done";
	}

	function at(x, y) {
		let found = null;
		for (let root = document; root; ) {
			const e = call(root, "elementFromPoint", x, y);
			if (!e || e === found)
				break;
			found = e;
			root = get(e, "shadowRoot");
		}
		return found;
	}

	/*
	 * "done" if a click at x, y of the page reaches e, whose box starts at left,
	 * top.
	 */
	function hit(e, x, y, left, top) {
		const box = call(e, "getBoundingClientRect");
		const found = at(x - left + box.x, y - top + box.y);
		const parents = [];
		for (let p = found; p; p = up(p))
			parents.push(p);
		const target = call(e, "matches", FIELDS) || rich(e) ? e
			: call(e, "closest", "button, [role=button], a, [role=link]") || e;
		if (parents.includes(target) || parents.includes(control(e)))
			return "done";
		if (!found)
			return show(get(document, "documentElement"));
		for (let p = target; p; p = up(p)) {
			const i = parents.indexOf(p);
			if (i > 1)
				return `${show(found)} from ${show(parents[i - 1])} subtree`;
			if (i >= 0)
				break;
		}
		return show(found);
	}

	function changed(e) {
		call(e, "dispatchEvent", new Event("input", {bubbles: true, composed: true}));
		call(e, "dispatchEvent", new Event("change", {bubbles: true}));
		return "done";
	}

	function choose(e) {
		if (!call(e, "matches", "input, textarea")) {
			const range = new Range();
			range.selectNodeContents(e);
			const selection = getSelection();
			selection.removeAllRanges();
			selection.addRange(range);
		} else {
			e.select();
		}
		call(e, "focus");
		return "type";
	}

	/* Returns "done", or "type": the selection is to be replaced by typing. */
	function fill(e, value) {
		e = control(e);
		if (call(e, "matches", "input")) {
			const type = e.type.toLowerCase();
			if (SET.includes(type)) {
				value = value.trim();
				if (type === "color")
					value = value.toLowerCase();
				e.focus();
				e.value = value;
				if (e.value !== value)
					throw new Error("Malformed value");
				return changed(e);
			}
			if (!TYPED.includes(type))
				throw new Error(`Input of type "${type}" cannot be filled`);
			if (type === "number" && isNaN(Number(value.trim())))
				throw new Error("Cannot type text into input[type=number]");
		} else if (!call(e, "matches", "textarea") && !rich(e)) {
			throw new Error("Element is not an <input>, <textarea> or " +
				"[contenteditable] element");
		}
		return choose(e);
	}

	function select(e, wanted) {
		e = control(e);
		if (!call(e, "matches", "select"))
			throw new Error("Element is not a <select> element");
		const chosen = [];
		for (const option of e.options) {
			const means = (w) => w === option.value || space(w) === space(option.label);
			if (!wanted.some(means))
				continue;
			if (!enabled(option))
				return "disabled";
			chosen.push(option);
			wanted = e.multiple ? wanted.filter((w) => !means(w)) : [];
			if (!e.multiple)
				break;
		}
		if (wanted.length)
			return "missing";
		e.value = undefined;
		for (const option of chosen)
			option.selected = true;
		return changed(e);
	}

	/* caret: move it to the front if e was not focused before. */
	function focus(e, caret) {
		const root = call(e, "getRootNode");
		const active = get(root, "activeElement");
		const before = active === e && call(document, "hasFocus");
		if (rich(e) && !before && active)
			call(active, "blur");
		call(e, "focus");
		call(e, "focus");
		if (caret && !before && call(e, "matches", "input")) {
			try {
				e.setSelectionRange(0, 0);
			} catch {
				/* Numbers and dates have no selection. */
			}
		}
		return "done";
	}

	/* Reports whether a drag starts between watch and watched. */
	function watch() {
		globalThis.drag = null;
		globalThis.dragWatch = (event) => (globalThis.drag = event);
		addEventListener("dragstart", globalThis.dragWatch, {capture: true});
		return "done";
	}

	function watched() {
		const begun = globalThis.drag && !globalThis.drag.defaultPrevented;
		removeEventListener("dragstart", globalThis.dragWatch, {capture: true});
		globalThis.drag = globalThis.dragWatch = null;
		return begun ? "drag" : "done";
	}

	/* Waits until nothing scrolls any more. Scrolling starts within six frames. */
	async function rest() {
		let still = 0;
		const moved = () => (still = 0);
		addEventListener("scroll", moved, {capture: true});
		for (let i = 0; i < 90 && still < 6; i++, still++)
			await frame();
		removeEventListener("scroll", moved, {capture: true});
		return "done";
	}

	/* Removes the files of an input. */
	function empty(e) {
		e.files = new DataTransfer().files;
		return changed(e);
	}

	function scroll(e, where) {
		call(e, "scrollIntoView", {block: where, inline: where, behavior: "instant"});
		return "done";
	}

	switch (what) {
	case "find":
		return find(document, `[bid="${CSS.escape(args[0])}"]`);
	case "root":
		return get(document, "documentElement");
	case "watch":
		return watch();
	case "watched":
		return watched();
	case "rest":
		return rest();
	case "empty":
		return empty(this);
	case "show":
		return show(this);
	case "check":
		return check(this, args);
	case "scroll":
		return scroll(this, ...args);
	case "hit":
		return hit(this, ...args);
	case "fill":
		return fill(this, ...args);
	case "select":
		return select(this, args);
	case "focus":
		return focus(this, ...args);
	}
}
