#include "inject/commands.h"

#include "base/clock.h"
#include "base/jw.h"
#include "inject/out.h"
#include "inject/sandbox.h"
#include "inject/sandbox_label.h"
#include "limits.h"

#include <stdio.h>

/* One container of the engine's list; the strings live as long as its doc. */
struct row {
	struct str name, id, image, state;
	uint16_t port;
	int64_t created; /* seconds since 1970 */
};

static void read_row(struct doc *d, struct json_val v, struct row *row)
{
	struct json_val labels = json_get(v, "Labels"), port, name = {0};
	struct json_val host = json_get(v, "HostConfig");
	uint16_t own;
	int it = 0;

	*row = (struct row){
		.id = doc_str(d, json_get(v, "Id")),
		.image = sandbox_label_read(d, labels, SANDBOX_LABEL_IMAGE),
		.state = doc_str(d, json_get(v, "State")),
		.created = doc_int(json_get(v, "Created"), 0),
	};
	if (json_next(json_get(v, "Names"), &it, NULL, &name))
		row->name = doc_str(d, name);
	if (str_starts(row->name, STR("/")))
		row->name = str_skip(row->name, 1);
	if (!row->image.n)
		row->image = doc_str(d, json_get(v, "Image"));
	it = 0;
	while (json_next(json_get(v, "Ports"), &it, NULL, &port))
		if (doc_int(json_get(port, "PrivatePort"), 0) == SANDBOX_PORT)
			row->port = (uint16_t)doc_int(json_get(port, "PublicPort"), 0);
	own = sandbox_host_port(d, labels, doc_str(d, json_get(host, "NetworkMode")));
	if (own)
		row->port = own;
}

static void print_age(int64_t created, struct buf *out)
{
	static const struct {
		int64_t seconds;
		char unit;
	} units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
	int64_t age = clock_today_s() - created;

	age = age < 0 ? 0 : age;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (age < 2 * units[i].seconds && units[i].seconds > 1)
			continue;
		buf_fmt(out, "%lld%c", (long long)(age / units[i].seconds),
			units[i].unit);
		return;
	}
}

static void column(struct buf *line, struct str text, size_t width)
{
	size_t from = line->n;

	out_clean(line, text.n ? text : STR("-"), false);
	buf_putc(line, ' ');
	while (line->n < from + width)
		buf_putc(line, ' ');
}

static void print_row(const struct row *row, struct buf *out)
{
	char port[16] = "";

	if (row->port)
		snprintf(port, sizeof(port), "%u", row->port);
	column(out, row->name, 16);
	column(out, row->image, 32);
	column(out, row->state, 10);
	column(out, str_c(port), 7);
	print_age(row->created, out);
	buf_putc(out, '\n');
}

static void json_row(const struct row *row, struct jw *w)
{
	jw_object(w);
	jw_key(w, "name");
	jw_str(w, row->name);
	jw_key(w, "id");
	jw_str(w, row->id);
	jw_key(w, "image");
	jw_str(w, row->image);
	jw_key(w, "state");
	jw_str(w, row->state);
	jw_key(w, "port");
	if (row->port)
		jw_uint(w, row->port);
	else
		jw_null(w);
	jw_key(w, "created");
	jw_int(w, row->created);
	jw_end(w);
}

static int print_list(const struct options *o, struct doc *d)
{
	struct buf out = BUF_INIT(INJECT_REPLY_MAX);
	struct json_val v;
	struct row row;
	struct jw w;
	int it = 0, r;

	jw_init(&w, &out);
	if (o->json)
		jw_array(&w);
	else if (!o->quiet)
		buf_puts(&out,
			"NAME            IMAGE                           STATE     "
			"PORT   AGE\n");
	while (json_next(doc_root(d), &it, NULL, &v)) {
		read_row(d, v, &row);
		if (o->json)
			json_row(&row, &w);
		else if (!o->quiet)
			print_row(&row, &out);
		/* Shells complete with these names: they expand what is no name. */
		else if (state_is_name(row.name))
			buf_fmt(&out, "%.*s\n", STR_ARG(row.name));
	}
	if (o->json) {
		jw_end(&w);
		buf_putc(&out, '\n');
	}
	r = out_buf(&out);
	buf_free(&out);
	return r;
}

static const char *const filter_keys[] = {"name", "id", "status", "label"};

static int check_filters(const struct options *o)
{
	const char *value;
	size_t it = 0;

	while ((value = options_next(o, LIST_FILTER, &it))) {
		struct str rest = str_c(value), key = str_cut(&rest, '=');
		bool known = false;

		for (size_t i = 0; i < ARRAY_LEN(filter_keys); i++)
			known = known || str_eq(key, str_c(filter_keys[i]));
		if (!known || !rest.n)
			return out_fail_usage("as in --filter status=running",
				"--filter '%s' is not KEY=VALUE with name, id, status or "
				"label for its KEY",
				value);
	}
	return 0;
}

/* Those of one key are alternatives to the engine; our label always counts. */
static void write_filters(const struct options *o, struct buf *out)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	for (size_t i = 0; i < ARRAY_LEN(filter_keys); i++) {
		const char *value;
		bool ours = strcmp(filter_keys[i], "label") == 0, begun = false;
		size_t it = 0;

		if (ours) {
			jw_key(&w, "label");
			jw_array(&w);
			jw_cstr(&w, "od.sandbox=1");
			begun = true;
		}
		while ((value = options_next(o, LIST_FILTER, &it))) {
			struct str rest = str_c(value), key = str_cut(&rest, '=');

			if (!str_eq(key, str_c(filter_keys[i])))
				continue;
			if (!begun) {
				jw_key(&w, filter_keys[i]);
				jw_array(&w);
				begun = true;
			}
			jw_str(&w, rest);
		}
		if (begun)
			jw_end(&w);
	}
	jw_end(&w);
}

static int ask_list(const struct options *o, const struct engine *e, struct reply *reply)
{
	struct buf json = BUF_INIT(INJECT_TEXT_MAX);
	struct target target;
	int r;

	reply_init(reply);
	write_filters(o, &json);
	target_init(&target, ENGINE_TARGET_MAX);
	target_add(
		&target, "/containers/json?all=1&filters=%.*s", STR_ARG(buf_view(&json)));
	r = json.err ? json.err : target_error(&target);
	if (r == ERR_LIMIT)
		r = out_fail_usage("give fewer", "the filters are too long");
	if (!r)
		r = engine_ask_at(e, reply, "GET", (struct str){0}, &target);
	buf_free(&json);
	target_free(&target);
	return r;
}

int cmd_ps(const struct options *o)
{
	struct reply reply;
	struct engine e;
	struct doc d;
	int r = check_filters(o);

	if (!r)
		r = engine_open(&e, o->host);
	if (r)
		return r;
	r = ask_list(o, &e, &reply);
	if (!r && reply.status != 200)
		r = engine_refused(&reply, NULL, "listing the sandboxes");
	if (!r) {
		r = doc_parse(&d, buf_view(&reply.body));
		r = r ? out_fail(NULL, "the engine's list is no JSON")
		      : print_list(o, &d);
		doc_free(&d);
	}
	reply_free(&reply);
	return r;
}
