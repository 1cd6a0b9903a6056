#include "srv/search.h"

#include "act/session.h"
#include "limits.h"
#include "proc/job.h"
#include "srv/search_work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* One search on its way. */
struct search {
	struct job job;
	struct search_work work;
	struct request *rq;
	struct loop *loop;
	struct timer look; /* whether somebody still waits */
	struct later later;
};

/* The parameters of a request: those of its query, or the members of its body. */
struct params {
	struct request *rq;
	bool json;
	struct json_val body;
	char wrong[128]; /* what is, for the user; empty if nothing */
};

/* --- Parameters ---------------------------------------------------------------- */

static void wrong(struct params *p, const char *key, const char *what)
{
	if (!p->wrong[0])
		snprintf(p->wrong, sizeof(p->wrong), "%s: %s", key, what);
}

/* The text of a parameter; false when it is absent or no text. */
static bool get_text(struct params *p, const char *key, struct str *out)
{
	struct json_val v;
	int r;

	if (!p->json) {
		r = request_query(p->rq, str_c(key), out);
		if (r < 0)
			wrong(p, key, "it is given twice or badly encoded");
		return r == 0;
	}
	v = json_get(p->body, key);
	if (json_type(v) == JSON_ABSENT || json_type(v) == JSON_NULL)
		return false;
	if (json_str(v, &p->rq->arena, out) == 0)
		return true;
	wrong(p, key, "it must be a string");
	return false;
}

/* Numbers and booleans are words in a query, and may be so in JSON. */
static bool get_word(struct params *p, const char *key, struct str *out)
{
	struct json_val v = p->json ? json_get(p->body, key) : p->body;

	if (p->json && (json_type(v) == JSON_NUMBER || json_type(v) == JSON_BOOL)) {
		*out = json_raw(v);
		return true;
	}
	return get_text(p, key, out);
}

static uint64_t get_number(
	struct params *p, const char *key, uint64_t absent, uint64_t max)
{
	uint64_t n = absent;
	struct str word;

	if (get_word(p, key, &word) && str_u64(word, max, &n) < 0) {
		char what[64];

		snprintf(what, sizeof(what), "it must be a number from 0 to %llu",
			(unsigned long long)max);
		wrong(p, key, what);
	}
	return n;
}

static bool get_bool(struct params *p, const char *key, bool absent)
{
	struct str word;

	if (!get_word(p, key, &word))
		return absent;
	if (str_eq(word, STR("true")) || str_eq(word, STR("1")))
		return true;
	if (!str_eq(word, STR("false")) && !str_eq(word, STR("0")))
		wrong(p, key, "it must be true or false");
	return false;
}

/* Which of n words it is; the first when it is absent. */
static size_t get_choice(
	struct params *p, const char *key, const char *const *words, size_t n)
{
	struct str word;

	if (!get_text(p, key, &word))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (str_eq(word, str_c(words[i])))
			return i;
	wrong(p, key, "it is none of the words for it");
	return 0;
}

/* --- The search ---------------------------------------------------------------- */

static struct search *search_new(struct loop *loop, struct request *rq)
{
	struct search *s = calloc(1, sizeof(*s));

	if (s) {
		s->loop = loop;
		s->rq = rq;
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

/* The path, relative to the directory of a session. */
static void get_top(struct params *p, struct api *api, struct search_work *w)
{
	struct str name = STR(SESSION_DEFAULT), sent = STR(".");
	struct buf why = BUF_INIT(FILE_WORDS_MAX);
	struct session *session;

	get_text(p, "session", &name);
	get_text(p, "path", &sent);
	session = session_find(api->box, name);
	if (!session)
		wrong(p, "session", "there is none of that name");
	else if (file_path_make(&w->top, session_cwd(session), sent, &why) < 0)
		wrong(p, "path", buf_cstr(&why) ? why.p : "out of memory");
	buf_free(&why);
}

static void get_walk(struct params *p, struct search_work *w)
{
	w->walk.hidden = get_bool(p, "hidden", false);
	w->walk.ignore = get_bool(p, "gitignore", true);
	w->walk.depth = (unsigned)get_number(p, "depth", 0, WALK_DEPTH_MAX);
	w->ms = get_number(p, "timeout", SEARCH_DEFAULT_S, SEARCH_MAX_S) * 1000;
}

/* -ENOMEM; all else is told in p->wrong. */
static int get_glob(struct params *p, const char *key, struct glob *g, bool *given)
{
	const char *why;
	struct str pattern;
	int r;

	*given = get_text(p, key, &pattern);
	if (!*given)
		return 0;
	r = glob_init(g, pattern, GLOB_BRACES | GLOB_ANYWHERE, &why);
	if (r < 0 && r != -ENOMEM)
		wrong(p, key, why);
	return r == -ENOMEM ? r : 0;
}

static int get_glob_work(struct params *p, struct search_work *w)
{
	static const char *const types[] = {"file", "dir", "any"};
	size_t type = get_choice(p, "type", types, ARRAY_LEN(types));
	bool given;
	int r = get_glob(p, "pattern", &w->glob, &given);

	if (!given)
		wrong(p, "pattern", "it is required");
	w->files = type != 1;
	w->folders = type != 0;
	w->limit = get_number(p, "limit", SEARCH_PATHS, SEARCH_PATHS_MAX);
	return r;
}

static int get_regex(struct params *p, struct regex *x)
{
	unsigned flags = (get_bool(p, "ignore_case", false) ? REGEX_NOCASE : 0U) |
		(get_bool(p, "literal", false) ? REGEX_LITERAL : 0U);
	struct regex_error e;
	struct str pattern;
	int r;

	if (!get_text(p, "pattern", &pattern)) {
		wrong(p, "pattern", "it is required");
		return 0;
	}
	r = regex_init(x, pattern, flags, &e);
	if (r < 0 && r != -ENOMEM) {
		char what[96];

		snprintf(what, sizeof(what), "%s (at byte %zu)", e.why, e.at);
		wrong(p, "pattern", what);
	}
	return r == -ENOMEM ? r : 0;
}

static int get_grep_work(struct params *p, struct search_work *w)
{
	static const char *const modes[] = {
		[GREP_LINES] = "lines", [GREP_FILES] = "files", [GREP_COUNTS] = "counts"};
	uint64_t context = get_number(p, "context", 0, SEARCH_CONTEXT_MAX);
	bool only, except;
	int r = get_regex(p, &w->regex);

	if (!r)
		r = get_glob(p, "glob", &w->glob, &only);
	if (!r)
		r = get_glob(p, "exclude", &w->except, &except);
	if (r)
		return r;
	w->grep = (struct grep_conf){
		.regex = &w->regex,
		.walk = w->walk,
		.mode = (enum grep_mode)get_choice(p, "mode", modes, ARRAY_LEN(modes)),
		.only = only ? &w->glob : NULL,
		.except = except ? &w->except : NULL,
		.before = (unsigned)get_number(p, "before", context, SEARCH_CONTEXT_MAX),
		.after = (unsigned)get_number(p, "after", context, SEARCH_CONTEXT_MAX),
		.limit = get_number(p, "limit", SEARCH_MATCHES, SEARCH_MATCHES_MAX),
		.per_file = get_number(p, "max_per_file", 0, SEARCH_MATCHES_MAX),
		.line_max = get_number(p, "line_max", SEARCH_LINE, SEARCH_LINE_MAX),
	};
	return 0;
}

/* The body of a POST; false, and answered, when it is of no use. */
static bool get_body(struct params *p, struct request *rq)
{
	static const struct json_caps caps = {
		.depth = JSON_DEPTH_MAX,
		.tokens = JSON_TOKENS_MAX,
		.keys = JSON_KEYS_MAX,
	};
	struct json_error e = {.why = "it is not a JSON object"};
	struct json *doc = arena_alloc(&rq->arena, sizeof(*doc));
	int r = doc ? json_parse(doc, rq->body, &caps, &rq->arena, &e) : -ENOMEM;

	if (r == -ENOMEM) {
		api_no_memory(rq);
	} else if (r < 0 || json_type(json_root(doc)) != JSON_OBJECT) {
		char words[128];

		snprintf(words, sizeof(words), "body: %s (at byte %zu)", e.why, e.at);
		api_invalid(rq, words);
	} else {
		p->body = json_root(doc);
		return true;
	}
	return false;
}

static void reply(struct request *rq, struct str out)
{
	uint64_t status;

	/* A job that was done has written this; all else is a bug. */
	if (out.n < 3 || str_u64(str_make(out.p, 3), 599, &status) < 0) {
		request_fail(rq, 500, STR("The search gave no answer."));
		return;
	}
	out = str_skip(out, 3);
	if (status == 200) {
		buf_str(request_out(rq), out);
		request_reply(rq, 200, API_JSON);
	} else {
		request_fail(rq, (unsigned)status, out);
	}
}

static void done(struct job *j)
{
	struct search *s = container_of(j, struct search, job);
	struct request *rq = s->rq;

	rq->user = NULL;
	if (j->outcome == JOB_DONE)
		reply(rq, buf_view(&j->out));
	else
		request_fail(rq, 503, str_c(job_words(j->outcome)));
	drop(s);
}

/* A peer that is finished with sending may still read, but hardly ever does. */
static void look(struct timer *t)
{
	struct search *s = container_of(t, struct search, look);
	struct request *rq = s->rq;

	if (!request_half_closed(rq) && timer_set(s->loop, t, SEARCH_LOOK_MS, look) == 0)
		return;
	rq->user = NULL;
	drop(s);
	request_fail(rq, 503, STR("Nobody seems to wait for this search."));
}

static void start(struct api *api, struct search *s, job_work_fn *work)
{
	static const struct job_ops ops = {.done = done};
	const struct job_conf conf = {
		.ops = &ops,
		.user = api->box->user,
		.work = work,
		.arg = &s->work,
		.ms = s->work.ms + SEARCH_GRACE_MS,
		.out_max = SEARCH_BODY_MAX + SEARCH_BODY_SLACK,
	};
	struct request *rq = s->rq;
	int r = job_start(&s->job, s->loop, &conf);

	if (r == 0 && timer_set(s->loop, &s->look, SEARCH_LOOK_MS, look) == 0) {
		rq->user = s;
		return;
	}
	drop(s);
	request_fail(rq, 503,
		r == ERR_LIMIT ? STR("Too many searches and transfers are waiting.")
			       : STR("The sandbox has no process left for a search."));
}

static void search(struct api *api, struct request *rq, job_work_fn *work,
	int (*get_work)(struct params *p, struct search_work *w))
{
	struct params p = {.rq = rq, .json = str_eq(rq->method, STR("POST"))};
	struct search *s;
	int r;

	if (p.json && !get_body(&p, rq))
		return;
	s = search_new(api->box->loop, rq);
	if (!s) {
		api_no_memory(rq);
		return;
	}
	get_top(&p, api, &s->work);
	get_walk(&p, &s->work);
	r = get_work(&p, &s->work);
	if (r == 0 && !p.wrong[0]) {
		start(api, s, work);
		return;
	}
	drop(s);
	if (r)
		api_no_memory(rq);
	else
		api_invalid(rq, p.wrong);
}

void search_glob(struct api *api, struct request *rq, struct str name)
{
	(void)name;
	search(api, rq, search_work_glob, get_glob_work);
}

void search_grep(struct api *api, struct request *rq, struct str name)
{
	(void)name;
	search(api, rq, search_work_grep, get_grep_work);
}

void search_gone(struct request *rq)
{
	drop(rq->user);
}
