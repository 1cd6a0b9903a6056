#include "server/files/search.h"

#include "action/session.h"
#include "limits.h"
#include "proc/job.h"
#include "server/files/search_work.h"
#include "server/params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	SEARCH_LOOK_MS = 1000,   /* between checks that the client is connected */
	SEARCH_GRACE_MS = 10000, /* from the deadline to the kill: a dead disk */
};

/* A search in progress. */
struct search {
	struct job job;
	struct search_work work;
	const struct search_ops *ops;
	void *arg;
	struct loop *loop;
	struct timer check_timer; /* the next check whether the client still waits */
	struct later later;
};

/* The parameters of a request. */
struct search_params {
	struct str session, path, pattern, glob, exclude;
	bool hidden, gitignore, ignore_case, literal;
	unsigned type, mode;
	uint64_t depth, seconds, limit, before, after, per_file, line_max;
};

#define ASK(member) offsetof(struct search_params, member)

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

static void search_free(struct search *s)
{
	job_free(&s->job);
	timer_cancel(s->loop, &s->check_timer);
	loop_defer_free(s->loop, &s->later, search_del);
}

/* --- Parameters; statuses as params_read --------------------------------------- */

/* Makes the path, relative to the directory of a session. */
static int search_make_top(struct params *p, const struct search_params *ask,
	struct api *api, struct search_work *w)
{
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	struct str cwd = STR("/");
	int r = 0;

	if (!str_starts(ask->path, STR("/"))) {
		struct session *session = session_find(
			api->box, ask->session.n ? ask->session : STR(SESSION_DEFAULT));

		if (!session)
			return params_set_error(p, "session", "no session has this name");
		cwd = session_cwd(session);
	}
	if (file_path_make(&w->top, cwd, ask->path, &why) < 0)
		r = params_set_error(
			p, "path", buf_cstr(&why) ? why.p : "it is not a valid path");
	buf_free(&why);
	return r;
}

static int search_make_glob(
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
	return r ? params_set_error(p, name, why) : 0;
}

static int search_make_regex(
	struct params *p, const struct search_params *ask, struct regex *x)
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
	return params_set_error(p, "pattern", what);
}

static int search_read_glob(
	struct params *p, struct search_params *ask, struct search_work *w)
{
	int r;

	ask->limit = SEARCH_PATHS;
	r = params_read(p, of_glob, ARRAY_LEN(of_glob), ask);
	if (r)
		return r;
	w->files = ask->type != TYPE_DIR;
	w->folders = ask->type != TYPE_FILE;
	w->limit = ask->limit;
	return search_make_glob(p, "pattern", ask->pattern, &w->glob);
}

static int search_read_grep(
	struct params *p, struct search_params *ask, struct search_work *w)
{
	int r;

	ask->limit = SEARCH_MATCHES;
	ask->line_max = SEARCH_LINE;
	r = params_read(p, of_grep, ARRAY_LEN(of_grep), ask);
	if (!r)
		r = search_make_regex(p, ask, &w->regex);
	if (!r && ask->glob.n)
		r = search_make_glob(p, "glob", ask->glob, &w->glob);
	if (!r && ask->exclude.n)
		r = search_make_glob(p, "exclude", ask->exclude, &w->except);
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

typedef int make_fn(struct params *p, struct search_params *ask, struct search_work *w);

struct search_kind {
	job_work_fn *work;
	make_fn *make;
	const struct param *own; /* its own parameters, after of_both */
	size_t own_n;
};

const struct search_kind search_kind_glob = {
	search_work_glob, search_read_glob, of_glob, ARRAY_LEN(of_glob)};
const struct search_kind search_kind_grep = {
	search_work_grep, search_read_grep, of_grep, ARRAY_LEN(of_grep)};

const struct param *search_get_param(const struct search_kind *kind, size_t i)
{
	if (i < ARRAY_LEN(of_both))
		return &of_both[i];
	i -= ARRAY_LEN(of_both);
	return i < kind->own_n ? &kind->own[i] : NULL;
}

static int search_read_params(struct api *api, struct params *p,
	const struct search_kind *kind, struct search_work *w)
{
	struct search_params ask = {
		.path = STR("."),
		.gitignore = true,
		.seconds = SEARCH_DEFAULT_S,
	};
	int r = params_read(p, of_both, ARRAY_LEN(of_both), &ask);

	if (!r)
		r = search_make_top(p, &ask, api, w);
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
static void search_finish(struct search *s, unsigned status, struct str text)
{
	s->ops->done(s->arg, status, text);
	search_free(s);
}

static void search_on_job_done(struct job *j)
{
	struct search *s = container_of(j, struct search, job);
	struct str out = buf_view(&j->out);
	uint64_t status;

	if (j->outcome != JOB_DONE)
		search_finish(s, 503, str_c(job_outcome_text(j->outcome)));
	/* A job that is done has written a status; anything else is a bug. */
	else if (out.n < 3 || str_u64(str_make(out.p, 3), 599, &status) < 0)
		search_finish(
			s, 500, STR("The search ended without an answer. Try again."));
	else
		search_finish(s, (unsigned)status, str_skip(out, 3));
}

/* A peer that has closed its side could still read, but hardly ever does. */
static void search_check_peer(struct timer *t)
{
	struct search *s = container_of(t, struct search, check_timer);

	if (s->ops->is_peer_closed(s->arg))
		search_finish(
			s, 503, STR("The connection of this search seems to be lost."));
	else
		timer_set(s->loop, t, SEARCH_LOOK_MS, search_check_peer);
}

static int search_start_job(
	struct api *api, struct search *s, job_work_fn *work, struct params *p)
{
	static const struct job_ops ops = {.done = search_on_job_done};
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

	if (r == 0) {
		timer_set(s->loop, &s->check_timer, SEARCH_LOOK_MS, search_check_peer);
		return 0;
	}
	snprintf(p->error, sizeof(p->error), "%s",
		r == ERR_LIMIT
			? "Too many searches and transfers are waiting. Try again later."
			: "The sandbox cannot start another process for a search. Try "
			  "again later.");
	return 503;
}

static int search_set_nomem(struct params *p)
{
	snprintf(p->error, sizeof(p->error),
		"The sandbox is out of memory for this request.");
	return 503;
}

int search_start(struct api *api, const struct search_kind *kind, struct params *p,
	const struct search_ops *ops, void *arg, struct search **out)
{
	struct search *s = search_new(api->box->loop, ops, arg);
	int r;

	if (!s)
		return search_set_nomem(p);
	r = search_read_params(api, p, kind, &s->work);
	if (r == 503)
		search_set_nomem(p);
	else if (!r)
		r = search_start_job(api, s, kind->work, p);
	if (r)
		search_free(s);
	else
		*out = s;
	return r;
}

void search_end(struct search *s)
{
	search_free(s);
}

/* --- The routes ---------------------------------------------------------------- */

static void search_reply(void *arg, unsigned status, struct str text)
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

static bool search_is_peer_closed(void *arg)
{
	return request_is_half_closed(arg);
}

static void search_on_close(struct request *rq)
{
	search_free(rq->user);
}

static void search_handle(
	struct api *api, struct request *rq, const struct search_kind *kind)
{
	static const struct search_ops ops = {
		.done = search_reply, .is_peer_closed = search_is_peer_closed};
	static const struct request_ops request_ops = {.on_close = search_on_close};
	struct params p = {.arena = &rq->arena, .query = rq->query};
	struct search *s = NULL;
	int r = 0;

	if (str_eq(rq->method, STR("POST")))
		r = params_parse_body(&p, rq->body);
	if (!r)
		r = search_start(api, kind, &p, &ops, rq, &s);
	rq->ops = &request_ops;
	rq->user = s;
	if (r == 503)
		request_fail(rq, 503, str_c(p.error));
	else if (r)
		api_refuse(rq, (unsigned)r, p.error);
}

void search_handle_glob(struct api *api, struct request *rq, struct str name)
{
	(void)name;
	search_handle(api, rq, &search_kind_glob);
}

void search_handle_grep(struct api *api, struct request *rq, struct str name)
{
	(void)name;
	search_handle(api, rq, &search_kind_grep);
}
