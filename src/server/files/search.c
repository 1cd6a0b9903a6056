#include "server/files/search.h"

#include "action/session.h"
#include "limits.h"
#include "proc/job.h"
#include "server/files/search_work.h"
#include "server/params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A search in progress. */
struct search {
	struct job job;
	struct search_work work;
	const struct search_ops *ops;
	void *arg;
	struct loop *loop;
	struct timer look; /* the next check whether the client still waits */
	struct later later;
};

/* The parameters of a request. */
struct ask {
	struct str session, path, pattern, glob, exclude;
	bool hidden, gitignore, ignore_case, literal;
	unsigned type, mode;
	uint64_t depth, seconds, limit, before, after, per_file, line_max;
};

#define ASK(member) offsetof(struct ask, member)

enum search_type { TYPE_FILE, TYPE_DIR, TYPE_ANY };

static const char *const types[] =
	{[TYPE_FILE] = "file", [TYPE_DIR] = "dir", [TYPE_ANY] = "any", NULL};
static const char *const modes[] =
	{[GREP_LINES] = "lines", [GREP_FILES] = "files", [GREP_COUNTS] = "counts", NULL};

static const struct param of_both[] = {
	{"pattern", PARAM_TEXT, .required = true, .at = ASK(pattern),
		.about = "For glob, as \"*.py\" or \"src/**/*.{c,h}\"; for grep, an "
			 "extended regular expression."},
	{"path", PARAM_TEXT, .at = ASK(path),
		.about = "The folder or file to search; relative to the directory of the "
			 "shell, which is the default."},
	{"session", PARAM_TEXT, .at = ASK(session),
		.about = "The shell whose directory a relative path is meant against."},
	{"hidden", PARAM_BOOL, .at = ASK(hidden),
		.about = "Look at names that begin with a dot, too."},
	{"gitignore", PARAM_BOOL, .at = ASK(gitignore),
		.about = "Leave out what .gitignore files exclude; that is the default."},
	{"depth", PARAM_NUMBER, .at = ASK(depth), .max = WALK_DEPTH_MAX,
		.about = "Folders to go down at most; 0: any number."},
	{"timeout", PARAM_NUMBER, .at = ASK(seconds), .max = SEARCH_MAX_S,
		.about = "Seconds after which what has been found is the answer."},
};

static const struct param of_glob[] = {
	{"type", PARAM_CHOICE, .at = ASK(type), .words = types,
		.about = "What to find; files are the default."},
	{"limit", PARAM_NUMBER, .at = ASK(limit), .max = SEARCH_PATHS_MAX,
		.about = "Paths in the answer at most."},
};

/* "context" sets both "before" and "after", which override it. */
static const struct param of_grep[] = {
	{"ignore_case", PARAM_BOOL, .at = ASK(ignore_case)},
	{"literal", PARAM_BOOL, .at = ASK(literal),
		.about = "The pattern is a plain text."},
	{"glob", PARAM_TEXT, .at = ASK(glob), .about = "Only files that this matches."},
	{"exclude", PARAM_TEXT, .at = ASK(exclude),
		.about = "No files that this matches."},
	{"context", PARAM_NUMBER, .at = ASK(before), .max = SEARCH_CONTEXT_MAX,
		.about = "Lines shown before and behind each match."},
	{"context", PARAM_NUMBER, .at = ASK(after), .max = SEARCH_CONTEXT_MAX},
	{"before", PARAM_NUMBER, .at = ASK(before), .max = SEARCH_CONTEXT_MAX},
	{"after", PARAM_NUMBER, .at = ASK(after), .max = SEARCH_CONTEXT_MAX},
	{"mode", PARAM_CHOICE, .at = ASK(mode), .words = modes,
		.about = "What to answer with: lines, names of files, numbers of "
			 "matches."},
	{"limit", PARAM_NUMBER, .at = ASK(limit), .max = SEARCH_MATCHES_MAX,
		.about = "Matches in the answer at most."},
	{"max_per_file", PARAM_NUMBER, .at = ASK(per_file), .max = SEARCH_MATCHES_MAX},
	{"line_max", PARAM_NUMBER, .at = ASK(line_max), .max = SEARCH_LINE_MAX},
};

/* --- The search ---------------------------------------------------------------- */

static struct search *search_new(
	struct loop *loop, const struct search_ops *ops, void *arg)
{
	struct search *s = calloc(1, sizeof(*s));

	if (s) {
		s->loop = loop;
		s->ops = ops;
		s->arg = arg;
	}
	return s;
}

static void search_del(struct later *d)
{
	struct search *s = container_of(d, struct search, later);

	regex_free(&s->work.regex);
	glob_free(&s->work.glob);
	glob_free(&s->work.except);
	free(s);
}

static void drop(struct search *s)
{
	job_free(&s->job);
	timer_cancel(s->loop, &s->look);
	loop_free_later(s->loop, &s->later, search_del);
}

/* --- Parameters; statuses as params_take --------------------------------------- */

/* Makes the path, relative to the directory of a session. */
static int make_top(
	struct params *p, const struct ask *ask, struct api *api, struct search_work *w)
{
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	struct str cwd = STR("/");
	int r = 0;

	if (!str_starts(ask->path, STR("/"))) {
		struct session *session = session_find(
			api->box, ask->session.n ? ask->session : STR(SESSION_DEFAULT));

		if (!session)
			return params_wrong(p, "session", "there is none of that name");
		cwd = session_cwd(session);
	}
	if (file_path_make(&w->top, cwd, ask->path, &why) < 0)
		r = params_wrong(p, "path", buf_cstr(&why) ? why.p : "it is no path");
	buf_free(&why);
	return r;
}

static int make_glob(
	struct params *p, const char *name, struct str pattern, struct glob *g)
{
	const char *why;
	int r;

	/* "./x" is the pattern "/x": x in the top folder. */
	if (str_starts(pattern, STR("./")))
		pattern = str_skip(pattern, 1);
	r = glob_init(g, pattern, GLOB_BRACES | GLOB_ANYWHERE, &why);
	if (r == -ENOMEM)
		return 503;
	return r ? params_wrong(p, name, why) : 0;
}

static int make_regex(struct params *p, const struct ask *ask, struct regex *x)
{
	unsigned flags = (ask->ignore_case ? REGEX_NOCASE : 0U) |
		(ask->literal ? REGEX_LITERAL : 0U);
	struct regex_error e;
	char what[96];
	int r = regex_init(x, ask->pattern, flags, &e);

	if (r == -ENOMEM)
		return 503;
	if (!r)
		return 0;
	snprintf(what, sizeof(what), "%s (at byte %zu)", e.why, e.at);
	return params_wrong(p, "pattern", what);
}

static int make_glob_work(struct params *p, struct ask *ask, struct search_work *w)
{
	int r;

	ask->limit = SEARCH_PATHS;
	r = params_take(p, of_glob, ARRAY_LEN(of_glob), ask);
	if (r)
		return r;
	w->files = ask->type != TYPE_DIR;
	w->folders = ask->type != TYPE_FILE;
	w->limit = ask->limit;
	return make_glob(p, "pattern", ask->pattern, &w->glob);
}

static int make_grep_work(struct params *p, struct ask *ask, struct search_work *w)
{
	int r;

	ask->limit = SEARCH_MATCHES;
	ask->line_max = SEARCH_LINE;
	r = params_take(p, of_grep, ARRAY_LEN(of_grep), ask);
	if (!r)
		r = make_regex(p, ask, &w->regex);
	if (!r && ask->glob.n)
		r = make_glob(p, "glob", ask->glob, &w->glob);
	if (!r && ask->exclude.n)
		r = make_glob(p, "exclude", ask->exclude, &w->except);
	w->grep = (struct grep_conf){
		.regex = &w->regex,
		.walk = w->walk,
		.mode = (enum grep_mode)ask->mode,
		.only = ask->glob.n ? &w->glob : NULL,
		.except = ask->exclude.n ? &w->except : NULL,
		.before = (unsigned)ask->before,
		.after = (unsigned)ask->after,
		.limit = ask->limit,
		.per_file = ask->per_file,
		.line_max = ask->line_max,
	};
	return r;
}

typedef int make_fn(struct params *p, struct ask *ask, struct search_work *w);

struct search_kind {
	job_work_fn *work;
	make_fn *make;
	const struct param *own; /* its own parameters, after of_both */
	size_t own_n;
};

const struct search_kind search_kind_glob = {
	search_work_glob, make_glob_work, of_glob, ARRAY_LEN(of_glob)};
const struct search_kind search_kind_grep = {
	search_work_grep, make_grep_work, of_grep, ARRAY_LEN(of_grep)};

const struct param *search_param(const struct search_kind *kind, size_t i)
{
	if (i < ARRAY_LEN(of_both))
		return &of_both[i];
	i -= ARRAY_LEN(of_both);
	return i < kind->own_n ? &kind->own[i] : NULL;
}

static int make_work(struct api *api, struct params *p, const struct search_kind *kind,
	struct search_work *w)
{
	struct ask ask = {
		.path = STR("."),
		.gitignore = true,
		.seconds = SEARCH_DEFAULT_S,
	};
	int r = params_take(p, of_both, ARRAY_LEN(of_both), &ask);

	if (!r)
		r = make_top(p, &ask, api, w);
	if (r)
		return r;
	w->walk.hidden = ask.hidden;
	w->walk.ignore = ask.gitignore;
	w->walk.depth = (unsigned)ask.depth;
	w->ms = ask.seconds * 1000;
	return kind->make(p, &ask, w);
}

/* --- The job ------------------------------------------------------------------- */

/* Reports the result and frees s. */
static void answer(struct search *s, unsigned status, struct str text)
{
	s->ops->done(s->arg, status, text);
	drop(s);
}

static void done(struct job *j)
{
	struct search *s = container_of(j, struct search, job);
	struct str out = buf_view(&j->out);
	uint64_t status;

	if (j->outcome != JOB_DONE)
		answer(s, 503, str_c(job_words(j->outcome)));
	/* A job that is done has written a status; anything else is a bug. */
	else if (out.n < 3 || str_u64(str_make(out.p, 3), 599, &status) < 0)
		answer(s, 500, STR("The search gave no answer."));
	else
		answer(s, (unsigned)status, str_skip(out, 3));
}

/* A peer that has closed its side could still read, but hardly ever does. */
static void look(struct timer *t)
{
	struct search *s = container_of(t, struct search, look);

	if (!s->ops->left(s->arg) && timer_set(s->loop, t, SEARCH_LOOK_MS, look) == 0)
		return;
	answer(s, 503, STR("Nobody seems to wait for this search."));
}

static int start(struct api *api, struct search *s, job_work_fn *work, struct params *p)
{
	static const struct job_ops ops = {.done = done};
	const struct job_conf conf = {
		.ops = &ops,
		.user = api->box->user,
		.work = work,
		.arg = &s->work,
		.ms = s->work.ms + SEARCH_GRACE_MS,
		.out_max = SEARCH_BODY_MAX + SEARCH_BODY_SLACK,
		.kind = JOB_LONG,
	};
	int r = job_start(&s->job, s->loop, &conf);

	if (r == 0 && timer_set(s->loop, &s->look, SEARCH_LOOK_MS, look) == 0)
		return 0;
	snprintf(p->wrong, sizeof(p->wrong), "%s",
		r == ERR_LIMIT ? "Too many searches and transfers are waiting."
			       : "The sandbox has no process left for a search.");
	return 503;
}

static int no_memory(struct params *p)
{
	snprintf(p->wrong, sizeof(p->wrong),
		"The sandbox is out of memory for this request.");
	return 503;
}

int search_start(struct api *api, const struct search_kind *kind, struct params *p,
	const struct search_ops *ops, void *arg, struct search **out)
{
	struct search *s = search_new(api->box->loop, ops, arg);
	int r;

	if (!s)
		return no_memory(p);
	r = make_work(api, p, kind, &s->work);
	if (r == 503)
		no_memory(p);
	else if (!r)
		r = start(api, s, kind->work, p);
	if (r)
		drop(s);
	else
		*out = s;
	return r;
}

void search_end(struct search *s)
{
	drop(s);
}

/* --- The routes ---------------------------------------------------------------- */

static void reply(void *arg, unsigned status, struct str text)
{
	struct request *rq = arg;

	rq->user = NULL;
	if (status == 200) {
		buf_str(request_out(rq), text);
		request_reply(rq, 200, API_JSON);
	} else {
		request_fail(rq, status, text);
	}
}

static bool left(void *arg)
{
	return request_half_closed(arg);
}

static void search(struct api *api, struct request *rq, const struct search_kind *kind)
{
	static const struct search_ops ops = {.done = reply, .left = left};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct search *s = NULL;
	int r = 0;

	if (str_eq(rq->method, STR("POST")))
		r = params_body(&p, rq->body);
	if (!r)
		r = search_start(api, kind, &p, &ops, rq, &s);
	rq->user = s;
	if (r == 503)
		request_fail(rq, 503, str_c(p.wrong));
	else if (r)
		api_refuse(rq, (unsigned)r, p.wrong);
}

void search_glob(struct api *api, struct request *rq, struct str name)
{
	(void)name;
	search(api, rq, &search_kind_glob);
}

void search_grep(struct api *api, struct request *rq, struct str name)
{
	(void)name;
	search(api, rq, &search_kind_grep);
}

void search_gone(struct request *rq)
{
	drop(rq->user);
}
