/*
 * A query, or behind a '{' a JSON body, of any content against a table of every type:
 * a value is the type's, and what is refused is told in words.
 */
#include "limits.h"
#include "server/params.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct values {
	struct str text, path;
	bool flag;
	uint64_t number;
	unsigned choice;
};

#define AT(member) offsetof(struct values, member)

static const char *const words[] = {"one", "two", NULL};

static const struct param table[] = {
	{"t", PARAM_TEXT, .at = AT(text)},
	{"p", PARAM_PATH, .at = AT(path)},
	{"f", PARAM_BOOL, .at = AT(flag)},
	{"n", PARAM_NUMBER, .at = AT(number), .max = 1000},
	{"c", PARAM_CHOICE, .at = AT(choice), .words = words},
	{"r", PARAM_TEXT, .required = true, .at = AT(text)},
};

static void check(const struct values *v)
{
	assert(str_starts(v->path, STR("/")));
	assert(v->number <= 1000 && v->choice < 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	char *copy = malloc(size ? size : 1);
	struct values v = {.path = STR("/")};
	struct params p = {.arena = &arena, .cwd = STR("/w")};
	int r = 0;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	arena_init(&arena, HTTP_ARENA_MAX);
	if (size && copy[0] == '{')
		r = params_parse_body(&p, str_make(copy, size));
	else
		p.query = str_make(copy, size);
	if (!r)
		r = params_read(&p, table, ARRAY_LEN(table), &v);
	assert(r == 0 || r == 400 || r == 422 || r == 503);
	assert(!r == !p.error[0]);
	check(&v);
	arena_reset(&arena);
	free(copy);
	return 0;
}
