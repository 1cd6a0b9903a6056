/*
 * Lists sandboxes: containers that od-runtime made, and containers with an injected
 * client.
 */
#include "inject/cli/commands.h"

#include "base/clock.h"
#include "inject/console/out.h"
#include "inject/options/options_rows.h"
#include "inject/sandbox/sandbox_info.h"
#include "inject/sandbox/sandbox_usage.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct ps_options {
	bool all, stats, no_stats, quiet;
	struct option_values filter;
};

enum {
	PS_INJECTED_MAX = 256, /* containers with an injected client */
	PS_IDS_AT_ONCE = 16,   /* per request, whose target has a maximum length */
	PS_LISTS_MAX = 1 + PS_INJECTED_MAX / PS_IDS_AT_ONCE,
};

/* An answer of the engine. */
struct ps_list {
	struct reply reply;
	struct json_doc doc;
};

struct ps {
	const struct ps_options *options;
	bool json;
	const struct engine *engine;
	struct sandbox_origins origins;
	struct ps_list lists[PS_LISTS_MAX];
	size_t lists_n;
	char ids[PS_INJECTED_MAX][STATE_ID_MAX + 1]; /* of injected containers */
	size_t ids_n;
	struct buf rows; /* of struct sandbox_info */
};

static struct sandbox_info *ps_get_rows(const struct ps *p, size_t *n)
{
	*n = p->rows.n / sizeof(struct sandbox_info);
	return (struct sandbox_info *)(void *)p->rows.p;
}

/* --- Filters ------------------------------------------------------------------------ */

static const char *const filter_keys[] = {"name", "id", "status", "label"};

static int ps_check_filter_keys(const struct ps_options *o)
{
	for (const struct option_value *v = o->filter.first; v; v = v->next) {
		struct str rest = str_c(v->text), key = str_cut(&rest, '=');
		bool known = false;

		for (size_t i = 0; i < ARRAY_LEN(filter_keys); i++)
			known = known || str_eq(key, str_c(filter_keys[i]));
		if (!known || !rest.n)
			return out_fail_usage(
				"give a filter such as --filter status=running",
				"--filter '%s' is not KEY=VALUE, where KEY "
				"is name, id, status or label",
				v->text);
	}
	return 0;
}

/* Adds a value of a filter; the values of one key are alternatives to the engine. */
static void ps_add_filter_value(
	struct jw *w, const char *key, struct str value, bool *begun)
{
	if (!*begun) {
		jw_key(w, key);
		jw_array(w);
	}
	*begun = true;
	jw_str(w, value);
}

static void ps_append_filter(
	const struct ps_options *o, const char *key, struct jw *w, bool *begun)
{
	for (const struct option_value *v = o->filter.first; v; v = v->next) {
		struct str rest = str_c(v->text);

		if (str_eq(str_cut(&rest, '='), str_c(key)))
			ps_add_filter_value(w, key, rest, begun);
	}
}

/* If n is not 0, the ids replace the label of od-runtime and the user's ids. */
static void ps_append_filters(const struct ps *p, const char (*ids)[STATE_ID_MAX + 1],
	size_t n, struct buf *out)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	for (size_t i = 0; i < ARRAY_LEN(filter_keys); i++) {
		const char *key = filter_keys[i];
		bool id = strcmp(key, "id") == 0, begun = false;

		if (!n && strcmp(key, "label") == 0)
			ps_add_filter_value(&w, key, STR("od.sandbox=1"), &begun);
		for (size_t k = 0; id && k < n; k++)
			ps_add_filter_value(&w, key, str_c(ids[k]), &begun);
		if (!id || !n)
			ps_append_filter(p->options, key, &w, &begun);
		if (begun)
			jw_end(&w);
	}
	jw_end(&w);
}

/* Whether the user's filters, which may abbreviate ids, include an id. */
static bool ps_match_id(const struct ps_options *o, const char *id)
{
	bool any = false;

	for (const struct option_value *v = o->filter.first; v; v = v->next) {
		struct str rest = str_c(v->text);

		if (!str_eq(str_cut(&rest, '='), STR("id")))
			continue;
		if (str_starts(str_c(id), rest))
			return true;
		any = true;
	}
	return !any;
}

/* --- Lists -------------------------------------------------------------------------- */

static int ps_add_injected(void *arg, const struct state *s)
{
	struct ps *p = arg;

	if (!s->port || strcmp(s->engine, p->engine->path) != 0 ||
		!state_is_name(str_c(s->id)) || !ps_match_id(p->options, s->id))
		return 0;
	if (p->ids_n == PS_INJECTED_MAX) {
		out_note("od-runtime: the list is cut: it has only %d of the containers "
			 "to which inject has added the client",
			PS_INJECTED_MAX);
		return 1;
	}
	snprintf(p->ids[p->ids_n++], sizeof(p->ids[0]), "%s", s->id);
	return 0;
}

static int ps_request_list(const struct ps *p, const char (*ids)[STATE_ID_MAX + 1],
	size_t n, struct reply *reply)
{
	struct buf json = BUF_INIT(INJECT_TEXT_MAX);
	struct target target;
	int r;

	ps_append_filters(p, ids, n, &json);
	target_init(&target, ENGINE_TARGET_MAX);
	target_add(
		&target, "/containers/json?all=1&filters=%.*s", STR_ARG(buf_view(&json)));
	r = json.err ? json.err : target_error(&target);
	if (r == ERR_LIMIT)
		r = out_fail_usage("give fewer or shorter filters",
			"the filters are too long for one request");
	if (!r)
		r = engine_request_at(p->engine, reply, "GET", (struct str){0}, &target);
	if (!r && reply->status != 200)
		r = engine_fail_reply(reply, ENGINE_NEXT_LOG, "listing the sandboxes");
	buf_free(&json);
	target_free(&target);
	return r;
}

/* Injected containers are listed by their ids, also if they have the label. */
static int ps_add_rows(struct ps *p, struct json_doc *d, bool by_ids)
{
	struct sandbox_info info;
	struct json_val v;
	int it = 0, r = 0;

	while (r >= 0 && json_next(json_doc_root(d), &it, NULL, &v)) {
		r = sandbox_info_read_row(&p->origins, d, v, &info);
		if (r || by_ids != (info.origin == SANDBOX_INJECTED))
			continue;
		buf_put(&p->rows, &info, sizeof(info));
		r = p->rows.err;
	}
	return r < 0 ? r : 0;
}

static int ps_fetch_list(struct ps *p, const char (*ids)[STATE_ID_MAX + 1], size_t n)
{
	struct ps_list *list = &p->lists[p->lists_n++];
	int r;

	reply_init(&list->reply);
	r = ps_request_list(p, ids, n, &list->reply);
	if (r)
		return r;
	r = json_doc_parse(&list->doc, buf_view(&list->reply.body));
	if (r)
		return r == -ENOMEM
			? r
			: out_fail(ENGINE_NEXT_LOG,
				  "the engine's list of containers is not JSON");
	return ps_add_rows(p, &list->doc, n > 0);
}

/* Newest first, as in the engine's list. */
static int ps_compare_rows(const void *a, const void *b)
{
	const struct sandbox_info *x = a, *y = b;

	size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;

	if (x->created != y->created)
		return x->created > y->created ? -1 : 1;
	return memcmp(x->name.p, y->name.p, n);
}

static int ps_fetch_all(struct ps *p)
{
	size_t n;
	int r = ps_fetch_list(p, NULL, 0);

	if (!r)
		(void)!state_each(ps_add_injected, p);
	for (size_t i = 0; !r && i < p->ids_n; i += PS_IDS_AT_ONCE)
		r = ps_fetch_list(p, p->ids + i,
			p->ids_n - i < PS_IDS_AT_ONCE ? p->ids_n - i : PS_IDS_AT_ONCE);
	if (!r && p->rows.n) {
		struct sandbox_info *rows = ps_get_rows(p, &n);

		qsort(rows, n, sizeof(*rows), ps_compare_rows);
	}
	return r;
}

/* --- Output ------------------------------------------------------------------------- */

static void ps_append_port(const struct sandbox_info *info, struct buf *out)
{
	if (info->port)
		buf_fmt(out, "%u", info->port);
}

static void ps_append_cpu(const struct sandbox_info *info, struct buf *out)
{
	uint64_t tenths = info->cpu_ns / 100000000;

	if (!info->measured)
		return;
	if (tenths < 1200)
		buf_fmt(out, "%llu.%llus", (unsigned long long)tenths / 10,
			(unsigned long long)tenths % 10);
	else
		out_put_age(out, (int64_t)(tenths / 10));
}

static void ps_append_memory(const struct sandbox_info *info, struct buf *out)
{
	static const char units[] = "KMGT";
	uint64_t v = info->memory;
	size_t unit = 0;

	if (!info->measured)
		return;
	while (v >= 1000 * 1024 && unit + 2 < sizeof(units)) {
		v /= 1024;
		unit++;
	}
	buf_fmt(out, "%llu.%llu%ciB", (unsigned long long)v / 1024,
		(unsigned long long)v % 1024 * 10 / 1024, units[unit]);
}

static void ps_append_row(
	const struct ps_options *o, const struct sandbox_info *info, struct buf *out)
{
	static const struct {
		void (*put)(const struct sandbox_info *info, struct buf *out);
		size_t width;
		bool measured;
	} columns[] = {
		{ps_append_port, 7, false},
		{ps_append_cpu, 8, true},
		{ps_append_memory, 10, true},
	};
	struct buf text = BUF_INIT(64);

	out_put_column(out, info->name, 16);
	out_put_column(out, info->image, 32);
	out_put_column(out, info->state, 10);
	out_put_column(out, info->method, 8);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		if (columns[i].measured && o->no_stats)
			continue;
		buf_reset(&text);
		columns[i].put(info, &text);
		out_put_column(out, buf_view(&text), columns[i].width);
	}
	out_put_age(out, clock_unix_s() - info->created);
	buf_putc(out, '\n');
	buf_free(&text);
}

static void ps_append_table(const struct ps *p, struct buf *out)
{
	size_t n;
	const struct sandbox_info *rows = ps_get_rows(p, &n);

	if (!p->options->quiet)
		buf_fmt(out,
			"NAME            IMAGE                           STATE     "
			"METHOD "
			" PORT   %sAGE\n",
			p->options->no_stats ? "" : "CPU     MEMORY    ");
	/*
	 * With --quiet each line is a name only, because shell completion uses the
	 * lines.
	 */
	for (size_t i = 0; i < n; i++)
		if (p->options->quiet)
			buf_fmt(out, "%.*s\n", STR_ARG(rows[i].name));
		else
			ps_append_row(p->options, &rows[i], out);
}

static void ps_append_json(const struct ps *p, struct buf *out)
{
	size_t n;
	const struct sandbox_info *rows = ps_get_rows(p, &n);
	struct jw w;

	jw_init(&w, out);
	jw_array(&w);
	for (size_t i = 0; i < n; i++) {
		jw_object(&w);
		sandbox_info_write(&rows[i], SANDBOX_MEMBERS_LIST, &w);
		jw_end(&w);
	}
	jw_end(&w);
	buf_putc(out, '\n');
}

static int ps_print_rows(const struct ps *p)
{
	struct buf out = BUF_INIT(INJECT_REPLY_MAX);
	int r;

	if (p->json)
		ps_append_json(p, &out);
	else
		ps_append_table(p, &out);
	r = out_write_buf(&out);
	buf_free(&out);
	return r;
}

static void ps_free_lists(struct ps *p)
{
	for (size_t i = 0; i < p->lists_n; i++) {
		json_doc_free(&p->lists[i].doc);
		reply_free(&p->lists[i].reply);
	}
	sandbox_origins_free(&p->origins);
	buf_free(&p->rows);
}

static int cmd_ps(const struct command_line *line)
{
	const struct ps_options *o = line->options;
	struct engine e;
	struct ps p = {.options = o,
		.json = line->json,
		.engine = &e,
		.rows = BUF_INIT(INJECT_REPLY_MAX)};
	int r = ps_check_filter_keys(o);
	size_t n;

	if (!r)
		r = engine_open(&e, line->host);
	if (r)
		return r;
	sandbox_origins_init(&p.origins, &e);
	r = ps_fetch_all(&p);
	if (!r && !o->quiet && !o->no_stats) {
		struct sandbox_info *rows = ps_get_rows(&p, &n);

		r = sandbox_usage_measure(&e, rows, n, o->stats);
	}
	if (!r)
		r = ps_print_rows(&p);
	ps_free_lists(&p);
	return r;
}

#define OPTIONS struct ps_options
static const struct option ps_options[] = {
	{"all", NULL, "list stopped sandboxes too, as ps does without this option", FLAG,
		.letter = 'a', AT(all), GROUP(LIFECYCLE)},
	{"filter", "KEY=VALUE", "list only sandboxes with this name, id, status or label",
		LIST(filter), EXAMPLE("status=running"), GROUP(LIFECYCLE)},
	{"stats", NULL,
		"ask the engine for CPU and MEMORY of sandboxes whose server does not "
		"answer on a port of this machine; some engines need a second for this",
		FLAG, AT(stats), GROUP(LIFECYCLE)},
	{"no-stats", NULL, "omit the columns CPU (CPU time since the start) and MEMORY",
		FLAG, AT(no_stats), GROUP(LIFECYCLE)},
	{"quiet", NULL, "print only names", FLAG, .letter = 'q', AT(quiet),
		GROUP(LIFECYCLE)},
	{0},
};
#undef OPTIONS

const struct command command_ps = {
	.name = "ps",
	.usage = "[OPTION...]",
	.purpose = "list the sandboxes",
	.more = "The list contains stopped sandboxes, and containers on which "
		"inject was used.",
	.examples = {"od-runtime ps", "od-runtime ps -q --filter label=team=a"},
	.options = ps_options,
	.options_size = sizeof(struct ps_options),
	.run = cmd_ps,
};
