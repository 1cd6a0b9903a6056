#include "search/ignore.h"

#include "search/glob.h"

#include <errno.h>

struct ignore_rule {
	struct glob glob;
	size_t base;
	bool include;
	bool dirs_only;
};

void ignore_init(struct ignore *g)
{
	buf_init(&g->rules, IGNORE_RULES_MAX * sizeof(struct ignore_rule));
}

static struct ignore_rule *ignore_get_rule(const struct ignore *g, size_t i)
{
	return (struct ignore_rule *)(void *)g->rules.p + i;
}

size_t ignore_count(const struct ignore *g)
{
	return g->rules.n / sizeof(struct ignore_rule);
}

void ignore_drop(struct ignore *g, size_t count)
{
	while (ignore_count(g) > count) {
		glob_free(&ignore_get_rule(g, ignore_count(g) - 1)->glob);
		g->rules.n -= sizeof(struct ignore_rule);
	}
}

void ignore_free(struct ignore *g)
{
	ignore_drop(g, 0);
	buf_free(&g->rules);
}

/* Removes blanks at the end, except one after a backslash. */
static struct str ignore_trim_blanks(struct str line)
{
	while (line.n && line.p[line.n - 1] == ' ') {
		size_t slashes = 0;

		while (slashes + 1 < line.n && line.p[line.n - 2 - slashes] == '\\')
			slashes++;
		if (slashes % 2)
			break;
		line.n--;
	}
	return line;
}

static int ignore_add_line(struct ignore *g, struct str line, size_t base)
{
	struct ignore_rule rule = {.base = base};
	const char *why;
	int r;

	if (str_ends(line, STR("\r")))
		line.n--;
	line = ignore_trim_blanks(line);
	if (!line.n || line.p[0] == '#')
		return 0;
	if (line.p[0] == '!') {
		rule.include = true;
		line = str_skip(line, 1);
	}
	if (str_ends(line, STR("/"))) {
		rule.dirs_only = true;
		line.n--;
	}
	if (!line.n)
		return 0;
	r = glob_init(&rule.glob, line, GLOB_ANYWHERE | GLOB_BYTES, &why);
	if (!r) {
		buf_put(&g->rules, &rule, sizeof(rule));
		r = g->rules.err;
	}
	if (r)
		glob_free(&rule.glob);
	return r == ERR_SYNTAX || (r == ERR_LIMIT && !g->rules.err) ? 0 : r;
}

int ignore_add(struct ignore *g, struct str text, size_t base)
{
	if (str_starts(text, STR("\xef\xbb\xbf")))
		text = str_skip(text, 3);
	while (text.n) {
		int r = ignore_add_line(g, str_cut(&text, '\n'), base);

		if (r) {
			g->rules.err = 0;
			return r;
		}
	}
	return 0;
}

int ignore_check(
	struct ignore *g, struct str path, bool is_dir, enum ignore_verdict *verdict)
{
	for (size_t i = ignore_count(g); i-- > 0;) {
		struct ignore_rule *rule = ignore_get_rule(g, i);
		int r;

		if (rule->dirs_only && !is_dir)
			continue;
		r = glob_match(&rule->glob, str_skip(path, rule->base));
		if (r < 0)
			return r;
		if (r == 0) {
			*verdict = rule->include ? IGNORE_INCLUDE : IGNORE_EXCLUDE;
			return 0;
		}
	}
	*verdict = IGNORE_NO_RULE;
	return 0;
}
