#include "fs/history.h"
#include "limits.h"
#include "tests/tap.h"

#include <stdlib.h>

static struct history h;

static const char *newest(const char *path)
{
	static char text[64];
	struct str got = STR("(none)");

	history_find_newest(&h, str_c(path), &got);
	snprintf(text, sizeof(text), "%.*s", STR_ARG(got));
	return text;
}

static void push(const char *path, const char *text)
{
	history_push(&h, str_c(path), str_c(text));
}

int main(void)
{
	size_t third = HISTORY_BYTES_MAX / 3;
	char *big = calloc(1, HISTORY_BYTES_MAX);
	char text[64];
	int n = 0;

	is_str(newest("/a"), "(none)", "nothing is remembered");
	history_pop(&h, STR("/a"));
	push("/a", "1");
	push("/b", "");
	push("/a", "2");
	is_str(newest("/a"), "2", "the newest of a file");
	is_str(newest("/b"), "", "an empty text is one");
	history_pop(&h, STR("/a"));
	is_str(newest("/a"), "1", "the one before");
	history_pop(&h, STR("/a"));
	is_str(newest("/a"), "(none)", "and no more");
	for (int i = 0; i < HISTORY_PER_FILE + 3; i++) {
		snprintf(text, sizeof(text), "%d", i);
		push("/c", text);
	}
	while (strcmp(newest("/c"), "(none)") != 0) {
		n++;
		snprintf(text, sizeof(text), "%s", newest("/c"));
		history_pop(&h, STR("/c"));
	}
	is_int(n, HISTORY_PER_FILE, "so many of one file");
	is_str(text, "3", "the oldest went first");
	is_str(newest("/b"), "", "others stay");
	if (!big)
		return 1;
	for (int i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "/%d", i);
		big[0] = (char)('0' + i);
		history_push(&h, str_c(text), str_make(big, third - 30));
	}
	is_str(newest("/b"), "(none)", "the longest unused goes when all is full");
	is_str(newest("/0"), "(none)", "so does the next one");
	is_str(newest("/3"), "3", "the newest is there");
	ok(h.bytes <= HISTORY_BYTES_MAX, "not more than the maximum: %zu", h.bytes);
	history_push(&h, STR("/x"), str_make(big, HISTORY_BYTES_MAX));
	is_str(newest("/x"), "(none)", "what is too large is not kept");
	is_str(newest("/3"), "3", "and drives nothing out");
	history_free(&h);
	is_int((long long)h.bytes, 0, "all is freed");
	free(big);
	return done_testing();
}
