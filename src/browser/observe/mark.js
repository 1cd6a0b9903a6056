/*
 * Marks the elements of a document, so that the nodes of the accessibility tree and of
 * the DOM snapshot can be matched. Every element gets
 *	bid                          its name, for as long as the document lives
 *	browsergym_visibility_ratio  the part of it that is in the viewport, 0 to 1
 *	browsergym_set_of_marks      "1" if a mark is drawn on it, else "0"
 *	value, checked               the value that was typed or chosen
 * and its bid as a prefix of two ARIA attributes, since the accessibility tree contains
 * these. Only the prefixes are removed again.
 *
 * A function of a step and its argument:
 *	mark    the bid of the frame's element; starts to mark, returns without waiting
 *	wait    waits until the visibility of all elements is set
 *	unmark  removes the prefixes
 *	focus   the bid of the focused element: "" if there is none, null if it has no bid
 *
 * The function is called in the page's main world, since an element's onclick is null in
 * others. In a form and in the document, elements may hide members that have their names
 * ("children"), so the members of the prototypes are used. If a page has changed the
 * prototypes, the result is trusted no more than the content of the page.
 */
(step, argument) => {
	'use strict';
	const AREA_MIN = 20;
	const WAIT_MS = 1000;
	const RATIO = 'browsergym_visibility_ratio';
	const SHOWN = 'browsergym_set_of_marks';
	const ARIA = ['aria-roledescription', 'aria-description'];
	const PREFIX = /^(?:browsergym_id_[a-zA-Z0-9]+\s?)+/;
	const TAGS = new Set(['input', 'textarea', 'select', 'button', 'a', 'iframe', 'video',
		'li', 'td', 'option']);
	const BID = /^[a-zA-Z0-9]{1,64}$/;
	const BUTTONS = 'button, a, input[type="button"], div[role="button"]';

	const E = Element.prototype;
	const getter = (prototype, name) => {
		const get = Object.getOwnPropertyDescriptor(prototype, name).get;
		return element => get.call(element);
	};
	const within = root => (root === document ? Document : DocumentFragment).prototype
		.querySelectorAll.call(root, '*');
	const topmost = (root, x, y) => (root === document ? Document : ShadowRoot).prototype
		.elementFromPoint.call(root, x, y);
	const active = root => getter(
		(root === document ? Document : ShadowRoot).prototype, 'activeElement')(root);
	const shadow = getter(E, 'shadowRoot');
	const tag = getter(E, 'tagName');
	const childCount = getter(E, 'childElementCount');
	const parent = getter(Node.prototype, 'parentElement');
	const has = (element, name) => E.hasAttribute.call(element, name);
	const get = (element, name) => E.getAttribute.call(element, name);
	const set = (element, name, value) => E.setAttribute.call(element, name, value);
	const remove = (element, name) => E.removeAttribute.call(element, name);
	/* The page's own text, without prefixes that an interrupted pass has left. */
	const own = (element, name) => (get(element, name) ?? '').replace(PREFIX, '');
	const contains = (element, other) => Node.prototype.contains.call(element, other);

	/* In document order. The elements of an open shadow tree follow its host. */
	const elements = () => {
		const open = [within(document)];
		const at = [0];
		const all = [];

		while (open.length) {
			const list = open[open.length - 1];
			const element = list[at[at.length - 1]++];

			if (!element) {
				open.pop();
				at.pop();
				continue;
			}
			all.push(element);
			if (shadow(element)) {
				open.push(within(shadow(element)));
				at.push(0);
			}
		}
		return all;
	};

	/* a to z, aA to zZ, aAA and so on, for frames. Frame 0 is a. */
	const letters = n => {
		let text = '';

		for (n++; n; n = Math.floor((n - 1) / 26))
			text = String.fromCharCode((n > 26 ? 65 : 97) + (n - 1) % 26) + text;
		return text;
	};

	const newBid = (element, frameBid) => {
		const name = tag(element).toLowerCase();

		if (name === 'iframe' || name === 'frame')
			return frameBid + letters(window.browsergym_frame_counter++);
		return frameBid + window.browsergym_elem_counter++;
	};

	const writeValues = element => {
		if (typeof element.value !== 'undefined')
			set(element, 'value', element.value);
		if (typeof element.checked === 'undefined')
			return;
		if (element.checked === true)
			set(element, 'checked', '');
		else
			remove(element, 'checked');
	};

	/* Whether a click in its middle reaches the element or an element in it. */
	const takesClick = (element, box) => {
		const x = (box.left + box.right) / 2;
		const y = (box.top + box.bottom) / 2;
		let top = null;
		let before;
		let root = document;

		do {
			before = top;
			top = topmost(root, x, y);
			root = top && shadow(top);
		} while (root && top !== before);
		return top !== null && contains(element, top);
	};

	const isActive = element => TAGS.has(tag(element).toLowerCase()) ||
		(element.onclick !== null && element.onclick !== undefined) ||
		getComputedStyle(element).cursor === 'pointer';

	const isOnlyChildOfShown = element => {
		const above = parent(element);

		return above !== null && tag(above).toLowerCase() === 'span' &&
			childCount(above) === 1 && get(above, 'role') &&
			get(above, SHOWN) === '1';
	};

	/* buttons: the buttons that are shown so far. */
	const show = (element, buttons) => {
		const box = E.getBoundingClientRect.call(element);

		set(element, SHOWN, '0');
		/* takesClick is slow for stacked elements, so it is called for few. */
		if ((box.right - box.left) * (box.bottom - box.top) < AREA_MIN ||
				!isActive(element) || isOnlyChildOfShown(element) ||
				!takesClick(element, box))
			return;
		for (let above = element; above; above = parent(above))
			if (buttons.has(above))
				return;
		set(element, SHOWN, '1');
		if (E.matches.call(element, BUTTONS))
			buttons.add(element);
		for (let above = parent(element); above; above = parent(above))
			if (get(above, SHOWN) === '1')
				set(above, SHOWN, '0');
	};

	/* Resolves when the visibility of all elements is set, or after WAIT_MS. */
	const watch = all => new Promise(done => {
		const waiting = new Set(all);
		const thresholds = Array.from({length: 11}, (_, i) => i / 10);
		const observer = new IntersectionObserver(entries => {
			for (const entry of entries) {
				const ratio = Math.round(entry.intersectionRatio * 100) / 100;

				set(entry.target, RATIO, ratio);
				waiting.delete(entry.target);
			}
			if (!waiting.size)
				end();
		}, {threshold: thresholds});
		const timer = setTimeout(() => end(), WAIT_MS);
		const end = () => {
			clearTimeout(timer);
			observer.disconnect();
			done();
		};

		for (const element of all)
			observer.observe(element);
		if (!all.length)
			end();
	});

	const mark = frameBid => {
		const all = elements();
		const seen = new Set();
		const buttons = new Set();

		if (typeof window.browsergym_elem_counter !== 'number') {
			window.browsergym_elem_counter = 0;
			window.browsergym_frame_counter = 0;
		}
		for (const element of all) {
			let bid = get(element, 'bid');

			set(element, RATIO, 0);
			writeValues(element);
			if (bid === null || !BID.test(bid) || seen.has(bid)) {
				bid = newBid(element, frameBid);
				set(element, 'bid', bid);
			}
			seen.add(bid);
			for (const name of ARIA)
				set(element, name, `browsergym_id_${bid} ${own(element, name)}`);
			show(element, buttons);
		}
		window.browsergym_watched = watch(all);
	};

	const wait = async () => {
		await window.browsergym_watched;
		delete window.browsergym_watched;
	};

	const unmark = () => {
		for (const element of elements()) {
			for (const name of ARIA) {
				const text = own(element, name);

				if (text)
					set(element, name, text);
				else
					remove(element, name);
			}
		}
	};

	const focus = () => {
		let element = active(document);

		while (element && shadow(element))
			element = active(shadow(element));
		return element ? get(element, 'bid') : '';
	};

	return {mark, wait, unmark, focus}[step](argument);
}
