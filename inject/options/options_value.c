/* Reads the values of options by their kinds. */
#include "inject/options/options_rows.h"

#include "inject/console/out.h"
#include "inject/options/spec.h"

#include <errno.h>

/* The value of -1, which means no limit. */
#define NO_LIMIT UINT64_MAX

static int options_add_value(
	struct command_line *line, struct option_values *list, const char *text)
{
	struct option_value *value;

	if (line->list_values_n == OPTION_LIST_MAX)
		return out_fail_usage("--env-file takes as many as you like",
			"more than %d options that may be repeated", OPTION_LIST_MAX);
	value = arena_alloc(&line->arena, sizeof(*value));
	if (!value)
		return -ENOMEM;
	value->text = text;
	*(list->last ? &list->last->next : &list->first) = value;
	list->last = value;
	list->n++;
	line->list_values_n++;
	return 0;
}

static int options_find_choice(const struct option *opt, const char *value)
{
	for (int i = 0; opt->choices[i]; i++)
		if (strcmp(opt->choices[i], value) == 0)
			return i;
	return -1;
}

bool options_has_choice(const struct option *opt, const char *value)
{
	return value && options_find_choice(opt, value) >= 0;
}

static int options_set_choice(const struct option *opt, const char *value, unsigned *out)
{
	int i = options_find_choice(opt, value);

	if (i < 0)
		return out_fail_usage(
			NEXT_HELP, "--%s is '%s', not %s", opt->name, value, opt->value);
	*out = (unsigned)i;
	return 0;
}

static bool options_is_in_range(const struct option *opt, uint64_t n)
{
	return n >= opt->min && n <= opt->max;
}

static int options_set_number(const struct option *opt, const char *value, uint64_t *out)
{
	struct str s = str_c(value);

	if (opt->unlimited && str_eq(s, STR("-1"))) {
		*out = NO_LIMIT;
		return 0;
	}
	switch (opt->kind) {
	case OPTION_SIZE:
		if (spec_parse_size(s, opt->max, out) == 0 &&
			options_is_in_range(opt, *out))
			return 0;
		return out_fail_usage("sizes look like 500000, 64k, 512m, 2g",
			"--%s is '%s', not a size", opt->name, value);
	case OPTION_NANO:
		if (spec_parse_nano(s, out) == 0)
			return 0;
		return out_fail_usage("as 2 or 0.5", "--%s is '%s', not a number above 0",
			opt->name, value);
	case OPTION_DURATION:
		if (spec_parse_duration(s, opt->max, out) == 0 &&
			options_is_in_range(opt, *out))
			return 0;
		return out_fail_usage("durations look like 300, 300s, 5m, 1h30m",
			"--%s is '%s', not a duration of %llu to %llu seconds", opt->name,
			value, (unsigned long long)opt->min,
			(unsigned long long)opt->max);
	default:
		if (str_u64(s, opt->max, out) == 0 && options_is_in_range(opt, *out))
			return 0;
		return out_fail_usage(NEXT_HELP,
			"--%s is '%s', not a number from %llu to %llu", opt->name, value,
			(unsigned long long)opt->min, (unsigned long long)opt->max);
	}
}

int options_set_value(struct command_line *line, void *values, const struct option *opt,
	const char *value)
{
	char *base = values;
	void *at = base + opt->at;

	if (opt->kind == OPTION_FLAG) {
		*(bool *)at = true;
		return 0;
	}
	if (!*value)
		return out_fail_usage(NEXT_HELP, "--%s is empty", opt->name);
	if (opt->seen)
		*(bool *)(base + opt->seen) = true;
	if (opt->text)
		*(const char **)(base + opt->text) = value;
	switch (opt->kind) {
	case OPTION_TEXT:
		*(const char **)at = value;
		return 0;
	case OPTION_LIST:
		return options_add_value(line, at, value);
	case OPTION_CHOICE:
		return options_set_choice(opt, value, at);
	default:
		return options_set_number(opt, value, at);
	}
}
