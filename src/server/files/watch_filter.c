#include "server/files/watch_filter.h"

#include "limits.h"
#include "search/walk.h"

void watch_filter_init(struct watch_filter *f, bool ignores)
{
	*f = (struct watch_filter){.ignores = ignores};
	buf_init(&f->rules_of, WATCH_PATH_MAX);
	ignore_init(&f->rules);
}

void watch_filter_free(struct watch_filter *f)
{
	ignore_free(&f->rules);
	glob_free(&f->exclude);
	buf_free(&f->rules_of);
}

int watch_filter_set_exclude(struct watch_filter *f, struct str glob, const char **why)
{
	int r;

	if (!glob.n)
		return 0;
	r = glob_init(&f->exclude, glob, GLOB_BRACES | GLOB_ANYWHERE, why);
	f->excludes = !r;
	return r;
}

/* Loads the ignore rules for the folder with that path, which ends with a slash. */
static void watch_filter_load_rules(struct watch_filter *f, struct str folder)
{
	struct buf path = BUF_INIT(WATCH_PATH_MAX);

	if (f->rules_of.n == folder.n + 1 && str_ends(buf_view(&f->rules_of), folder))
		return;
	ignore_free(&f->rules);
	ignore_init(&f->rules);
	buf_reset(&f->rules_of);
	buf_str(&path, f->top);
	buf_str(&path, folder);
	f->rules_out = false;
	/* Without memory no rules apply. */
	if (buf_cstr(&path) &&
		walk_add_rules(&f->rules, path.p, f->top.n, path.n, &f->rules_out) == 0) {
		buf_putc(&f->rules_of, '/');
		buf_str(&f->rules_of, folder);
	}
	buf_free(&path);
}

static bool watch_filter_is_ignored(struct watch_filter *f, struct str path, bool dir)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	struct str folder = {path.p, slash ? (size_t)(slash - path.p) + 1 : 0};
	struct str base = str_skip(path, folder.n);
	enum ignore_verdict verdict = IGNORE_NO_RULE;
	struct buf whole = BUF_INIT(2 * WATCH_PATH_MAX);
	int r;

	if (str_eq(base, STR(".git")))
		return true;
	watch_filter_load_rules(f, folder);
	buf_str(&whole, f->top);
	buf_str(&whole, path);
	r = whole.err ? whole.err
		      : ignore_check(&f->rules, buf_view(&whole), dir, &verdict);
	buf_free(&whole);
	/* The file or its content has changed: the rules are read again. */
	if (str_eq(base, STR(".gitignore")))
		buf_reset(&f->rules_of);
	return f->rules_out || (!r && verdict == IGNORE_EXCLUDE);
}

bool watch_filter_is_hidden(struct watch_filter *f, struct str path, bool dir)
{
	if (f->file_name)
		return !str_eq(path, str_c(f->file_name));
	if (str_eq(path, STR(".")))
		return false;
	if (f->excludes && glob_match(&f->exclude, path) == 0)
		return true;
	return f->ignores && watch_filter_is_ignored(f, path, dir);
}
