#include "browser/page/keys.h"

/* Both numbers are Windows virtual key codes, which browsers still use. */
static const struct key_row {
	char code[16], key[12];
	char shifted[2]; /* with Shift; empty if Shift changes nothing */
	uint8_t number, shifted_number;
	uint8_t location; /* 1 left, 2 right, 3 numeric keypad */
} rows[] = {
	{"Escape", "Escape", "", 27, 27, 0},
	{"F1", "F1", "", 112, 112, 0},
	{"F2", "F2", "", 113, 113, 0},
	{"F3", "F3", "", 114, 114, 0},
	{"F4", "F4", "", 115, 115, 0},
	{"F5", "F5", "", 116, 116, 0},
	{"F6", "F6", "", 117, 117, 0},
	{"F7", "F7", "", 118, 118, 0},
	{"F8", "F8", "", 119, 119, 0},
	{"F9", "F9", "", 120, 120, 0},
	{"F10", "F10", "", 121, 121, 0},
	{"F11", "F11", "", 122, 122, 0},
	{"F12", "F12", "", 123, 123, 0},
	{"Backquote", "`", "~", 192, 192, 0},
	{"Digit1", "1", "!", 49, 49, 0},
	{"Digit2", "2", "@", 50, 50, 0},
	{"Digit3", "3", "#", 51, 51, 0},
	{"Digit4", "4", "$", 52, 52, 0},
	{"Digit5", "5", "%", 53, 53, 0},
	{"Digit6", "6", "^", 54, 54, 0},
	{"Digit7", "7", "&", 55, 55, 0},
	{"Digit8", "8", "*", 56, 56, 0},
	{"Digit9", "9", "(", 57, 57, 0},
	{"Digit0", "0", ")", 48, 48, 0},
	{"Minus", "-", "_", 189, 189, 0},
	{"Equal", "=", "+", 187, 187, 0},
	{"Backslash", "\\", "|", 220, 220, 0},
	{"Backspace", "Backspace", "", 8, 8, 0},
	{"Tab", "Tab", "", 9, 9, 0},
	{"KeyQ", "q", "Q", 81, 81, 0},
	{"KeyW", "w", "W", 87, 87, 0},
	{"KeyE", "e", "E", 69, 69, 0},
	{"KeyR", "r", "R", 82, 82, 0},
	{"KeyT", "t", "T", 84, 84, 0},
	{"KeyY", "y", "Y", 89, 89, 0},
	{"KeyU", "u", "U", 85, 85, 0},
	{"KeyI", "i", "I", 73, 73, 0},
	{"KeyO", "o", "O", 79, 79, 0},
	{"KeyP", "p", "P", 80, 80, 0},
	{"KeyA", "a", "A", 65, 65, 0},
	{"KeyS", "s", "S", 83, 83, 0},
	{"KeyD", "d", "D", 68, 68, 0},
	{"KeyF", "f", "F", 70, 70, 0},
	{"KeyG", "g", "G", 71, 71, 0},
	{"KeyH", "h", "H", 72, 72, 0},
	{"KeyJ", "j", "J", 74, 74, 0},
	{"KeyK", "k", "K", 75, 75, 0},
	{"KeyL", "l", "L", 76, 76, 0},
	{"KeyZ", "z", "Z", 90, 90, 0},
	{"KeyX", "x", "X", 88, 88, 0},
	{"KeyC", "c", "C", 67, 67, 0},
	{"KeyV", "v", "V", 86, 86, 0},
	{"KeyB", "b", "B", 66, 66, 0},
	{"KeyN", "n", "N", 78, 78, 0},
	{"KeyM", "m", "M", 77, 77, 0},
	{"BracketLeft", "[", "{", 219, 219, 0},
	{"BracketRight", "]", "}", 221, 221, 0},
	{"CapsLock", "CapsLock", "", 20, 20, 0},
	{"Semicolon", ";", ":", 186, 186, 0},
	{"Quote", "'", "\"", 222, 222, 0},
	{"Enter", "Enter", "", 13, 13, 0},
	{"ShiftLeft", "Shift", "", 16, 16, 1},
	{"ShiftRight", "Shift", "", 16, 16, 2},
	{"Comma", ",", "<", 188, 188, 0},
	{"Period", ".", ">", 190, 190, 0},
	{"Slash", "/", "?", 191, 191, 0},
	{"ControlLeft", "Control", "", 17, 17, 1},
	{"ControlRight", "Control", "", 17, 17, 2},
	{"AltLeft", "Alt", "", 18, 18, 1},
	{"AltRight", "Alt", "", 18, 18, 2},
	{"MetaLeft", "Meta", "", 91, 91, 1},
	{"MetaRight", "Meta", "", 92, 92, 2},
	{"Space", " ", " ", 32, 32, 0},
	{"AltGraph", "AltGraph", "", 225, 225, 0},
	{"ContextMenu", "ContextMenu", "", 93, 93, 0},
	{"PrintScreen", "PrintScreen", "", 44, 44, 0},
	{"ScrollLock", "ScrollLock", "", 145, 145, 0},
	{"Pause", "Pause", "", 19, 19, 0},
	{"PageUp", "PageUp", "", 33, 33, 0},
	{"PageDown", "PageDown", "", 34, 34, 0},
	{"Insert", "Insert", "", 45, 45, 0},
	{"Delete", "Delete", "", 46, 46, 0},
	{"Home", "Home", "", 36, 36, 0},
	{"End", "End", "", 35, 35, 0},
	{"ArrowLeft", "ArrowLeft", "", 37, 37, 0},
	{"ArrowUp", "ArrowUp", "", 38, 38, 0},
	{"ArrowRight", "ArrowRight", "", 39, 39, 0},
	{"ArrowDown", "ArrowDown", "", 40, 40, 0},
	{"NumLock", "NumLock", "", 144, 144, 0},
	{"NumpadDivide", "/", "/", 111, 111, 3},
	{"NumpadMultiply", "*", "*", 106, 106, 3},
	{"NumpadSubtract", "-", "-", 109, 109, 3},
	{"NumpadAdd", "+", "+", 107, 107, 3},
	{"Numpad7", "Home", "7", 36, 103, 3},
	{"Numpad8", "ArrowUp", "8", 38, 104, 3},
	{"Numpad9", "PageUp", "9", 33, 105, 3},
	{"Numpad4", "ArrowLeft", "4", 37, 100, 3},
	{"Numpad5", "Clear", "5", 12, 101, 3},
	{"Numpad6", "ArrowRight", "6", 39, 102, 3},
	{"Numpad1", "End", "1", 35, 97, 3},
	{"Numpad2", "ArrowDown", "2", 40, 98, 3},
	{"Numpad3", "PageDown", "3", 34, 99, 3},
	{"Numpad0", "Insert", "0", 45, 96, 3},
	{"NumpadDecimal", "Delete", ".", 46, 110, 3},
	{"NumpadEnter", "Enter", "", 13, 13, 3},
};

/* Other names of keys, and the bits of modifiers. */
static const struct {
	struct str name;
	const char *code;
	unsigned modifier;
} aliases[] = {
	{STR("Shift"), "ShiftLeft", MODIFIER_SHIFT},
	{STR("Control"), "ControlLeft", MODIFIER_CONTROL},
	{STR("ControlOrMeta"), "ControlLeft", MODIFIER_CONTROL},
	{STR("Alt"), "AltLeft", MODIFIER_ALT},
	{STR("Meta"), "MetaLeft", MODIFIER_META},
	{STR("\n"), "Enter", 0},
	{STR("\r"), "Enter", 0},
};

static struct str keys_resolve_alias(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		if (str_eq(name, aliases[i].name))
			return str_c(aliases[i].code);
	return name;
}

static unsigned keys_find_modifier(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		if (str_eq(str_c(key), aliases[i].name))
			return aliases[i].modifier;
	return 0;
}

static bool keys_types_char(const char *key)
{
	return key[0] && !key[1];
}

int keys_find(struct str name, unsigned held, struct key *out)
{
	bool shift = held & MODIFIER_SHIFT;

	name = keys_resolve_alias(name);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct key_row *r = &rows[i];
		bool by_code = str_eq(name, str_c(r->code));
		/* Characters of the numeric keypad are found in the main block. */
		bool by_key = !r->location && keys_types_char(r->key) &&
			str_eq(name, str_c(r->key));
		bool by_shifted =
			!r->location && r->shifted[0] && str_eq(name, str_c(r->shifted));

		if (!by_code && !by_key && !by_shifted)
			continue;
		shift = r->shifted[0] && (shift || (by_shifted && !by_key));
		out->code = r->code;
		out->key = shift ? r->shifted : r->key;
		out->number = shift ? r->shifted_number : r->number;
		out->location = r->location;
		out->modifier = keys_find_modifier(r->key);
		out->text = keys_types_char(out->key) ? out->key
			: !strcmp(out->key, "Enter")  ? "\r"
						      : "";
		if (held & ~(unsigned)MODIFIER_SHIFT)
			out->text = "";
		return 0;
	}
	return ERR_SYNTAX;
}

struct str keys_cut_name(struct str *combination)
{
	struct str s = *combination;
	size_t n = s.n ? 1 : 0;

	while (n < s.n && s.p[n] != '+')
		n++;
	*combination = str_skip(s, n + 1);
	return str_make(s.p, n);
}
