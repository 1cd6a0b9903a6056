#include "browser/page/keys.h"
#include "tests/tap.h"

static void check(const char *name, unsigned held, const char *want)
{
	char got[128] = "none";
	struct key k;

	if (keys_find(str_c(name), held, &k) == 0)
		snprintf(got, sizeof(got), "%s|%s|%s|%u|%u|%u", k.code, k.key, k.text,
			k.number, k.location, k.modifier);
	is_str(got, want, "%s with %u", name, held);
}

static void take(const char *combination, const char *want)
{
	struct str rest = str_c(combination);
	char got[128] = "";

	do {
		struct str name = keys_cut_name(&rest);

		snprintf(got + strlen(got), sizeof(got) - strlen(got), "[%.*s]",
			STR_ARG(name));
	} while (rest.n);
	is_str(got, want, "parts of %s", combination);
}

/* Every printable character of ASCII is typed by a key of its own name. */
static void test_printable(void)
{
	int wrong = 0;

	for (char c = ' '; c <= '~'; c++) {
		char name[2] = {c, '\0'};
		struct key k;

		wrong += keys_find(str_make(name, 1), 0, &k) != 0 ||
			strcmp(k.text, name) != 0 || strcmp(k.key, name) != 0;
	}
	is_int(wrong, 0, "printable characters");
}

int main(void)
{
	check("a", 0, "KeyA|a|a|65|0|0");
	check("A", 0, "KeyA|A|A|65|0|0");
	check("a", MODIFIER_SHIFT, "KeyA|A|A|65|0|0");
	check("KeyA", 0, "KeyA|a|a|65|0|0");
	check("a", MODIFIER_CONTROL, "KeyA|a||65|0|0");
	check("1", MODIFIER_SHIFT, "Digit1|!|!|49|0|0");
	check("!", 0, "Digit1|!|!|49|0|0");
	check("/", 0, "Slash|/|/|191|0|0");
	check("Enter", 0, "Enter|Enter|\r|13|0|0");
	check("\n", 0, "Enter|Enter|\r|13|0|0");
	check("Enter", MODIFIER_SHIFT, "Enter|Enter|\r|13|0|0");
	check("Tab", 0, "Tab|Tab||9|0|0");
	check("Backspace", 0, "Backspace|Backspace||8|0|0");
	check("Space", 0, "Space| | |32|0|0");
	check("F12", 0, "F12|F12||123|0|0");
	check("Control", 0, "ControlLeft|Control||17|1|2");
	check("ControlOrMeta", 0, "ControlLeft|Control||17|1|2");
	check("ShiftRight", 0, "ShiftRight|Shift||16|2|8");
	check("Meta", 0, "MetaLeft|Meta||91|1|4");
	check("Numpad7", 0, "Numpad7|Home||36|3|0");
	check("Numpad7", MODIFIER_SHIFT, "Numpad7|7|7|103|3|0");
	check("NumpadAdd", 0, "NumpadAdd|+|+|107|3|0");
	check("Foo", 0, "none");
	check("", 0, "none");
	check("\xc3\xa9", 0, "none");
	take("Control+a", "[Control][a]");
	take("Control++", "[Control][+]");
	take("+", "[+]");
	take("Meta+Shift+t", "[Meta][Shift][t]");
	take("", "[]");
	test_printable();
	return done_testing();
}
