#include "codec/plugin_frame.h"
#include "limits.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdlib.h>

static struct arena arena;

/* --- Frames ------------------------------------------------------------------ */

static const struct {
	const char *text;
	int r;
	enum plugin_op op;
	uint64_t id;
	const char *words; /* of an error, too */
} frames[] = {
	{"{\"op\":\"ready\"}", 0, PLUGIN_READY, 0, ""},
	{" {\"new\":1, \"op\":\"rea\\u0064y\"} ", 0, PLUGIN_READY, 0, ""},
	{"{\"op\":\"unavailable\",\"why\":\"a\\nb\"}", 0, PLUGIN_UNAVAILABLE, 0, "a\nb"},
	{"{\"op\":\"log\",\"text\":\"\"}", 0, PLUGIN_LOG, 0, ""},
	{"{\"op\":\"pong\"}", 0, PLUGIN_PONG, 0, ""},
	{"{\"op\":\"reply\",\"id\":7}", 0, PLUGIN_REPLY, 7, ""},
	{"", ERR_SYNTAX, 0, 0, NULL},
	{"7", ERR_SYNTAX, 0, 0, NULL},
	{"{}", ERR_SYNTAX, 0, 0, "a frame without an op"},
	{"{\"op\":1}", ERR_SYNTAX, 0, 0, "a frame without an op"},
	{"[\"op\"]", ERR_SYNTAX, 0, 0, "a frame without an op"},
	{"{\"op\":\"Ready\"}", ERR_SYNTAX, 0, 0, "a frame with an unknown op"},
	{"{\"op\":\"log\"}", ERR_SYNTAX, 0, 0, "a frame \"log\" without its text"},
	{"{\"op\":\"reply\"}", ERR_SYNTAX, 0, 0, "a reply without an id"},
	{"{\"op\":\"reply\",\"id\":0}", ERR_SYNTAX, 0, 0, "a reply without an id"},
	{"{\"op\":\"reply\",\"id\":\"1\"}", ERR_SYNTAX, 0, 0, "a reply without an id"},
	{"{\"op\":\"log\",\"text\":\"\xff\"}", ERR_SYNTAX, 0, 0, NULL},
};

static void test_frames(void)
{
	for (size_t i = 0; i < ARRAY_LEN(frames); i++) {
		struct plugin_frame f = {0};
		const char *why = NULL;
		int r;

		arena_reset(&arena);
		r = plugin_frame_read(&f, str_c(frames[i].text), &arena, &why);
		is_int(r, frames[i].r, "%s", frames[i].text);
		if (r == 0)
			ok(f.op == frames[i].op && f.id == frames[i].id &&
					str_eq(f.text, str_c(frames[i].words)),
				"...what it says");
		else
			ok(why && (!frames[i].words || !strcmp(why, frames[i].words)),
				"...%s", why ? why : "no words");
	}
}

/* --- Replies ----------------------------------------------------------------- */

static struct json json;

static struct json_val parse(const char *text)
{
	static const struct json_caps caps = {16, 1000, 100};
	struct json_error e;

	arena_reset(&arena);
	if (json_parse(&json, str_c(text), &caps, &arena, &e))
		ok(false, "the test itself: %s", text);
	return json_root(&json);
}

static const struct {
	const char *reply, *out; /* or why not */
	int r;
} observations[] = {
	{"{\"observation\":{}}",
		"{\"message\":\"\",\"observation\":\"kind\",\"content\":\"\",\"extras\":{"
		"}}",
		0},
	{"{\"observation\":{\"success\":true,\"extras\":{\"a\":[1]},\"content\":\"c\","
	 "\"observation\":\"o\",\"message\":\"m\",\"more\":1}}",
		"{\"message\":\"m\",\"observation\":\"o\",\"content\":\"c\","
		"\"extras\":{\"a\":[1]},\"success\":true}",
		0},
	{"{}", "\"observation\" is not an object", ERR_SYNTAX},
	{"{\"observation\":[]}", "\"observation\" is not an object", ERR_SYNTAX},
	{"{\"observation\":{\"content\":1}}",
		"\"message\", \"observation\" or \"content\" is not a string",
		ERR_SYNTAX},
	{"{\"observation\":{\"extras\":[]}}", "\"extras\" is not an object", ERR_SYNTAX},
	{"{\"observation\":{\"success\":1}}", "\"success\" is neither true nor false",
		ERR_SYNTAX},
};

static void test_observations(void)
{
	struct buf out = BUF_INIT(4096);

	for (size_t i = 0; i < ARRAY_LEN(observations); i++) {
		struct json_val root = parse(observations[i].reply);
		const char *why = "";

		buf_reset(&out);
		is_int(plugin_frame_put_observation(root, "kind", &arena, &out, &why),
			observations[i].r, "%s", observations[i].reply);
		ok(str_eq(observations[i].r ? str_c(why) : buf_view(&out),
			   str_c(observations[i].out)),
			"...%.*s%s", STR_ARG(buf_view(&out)), why);
	}
	buf_free(&out);
}

static const struct {
	const char *reply, *why; /* NULL: it is good */
} answers[] = {
	{"{\"status\":200}", NULL},
	{"{\"status\":200,\"more\":true}", NULL},
	{"{\"status\":200,\"more\":1}", "\"more\" is neither true nor false"},
	{"{\"status\":204,\"more\":true}", "a reply with this status cannot have a body"},
	{"{\"status\":599,\"headers\":{},\"body\":\"x\"}", NULL},
	{"{\"status\":204,\"body\":\"\"}", NULL},
	{"{}", "\"status\" is not a number from 200 to 599"},
	{"{\"status\":100}", "\"status\" is not a number from 200 to 599"},
	{"{\"status\":600}", "\"status\" is not a number from 200 to 599"},
	{"{\"status\":304,\"body\":\"x\"}",
		"a reply with this status cannot have a body"},
	{"{\"status\":200,\"body\":null}", "\"body\" is not a string"},
	{"{\"status\":200,\"body64\":\"=\"}", "\"body64\" is not Base64"},
	{"{\"status\":200,\"body64\":\"\",\"body\":\"\"}", "it has both body and body64"},
	{"{\"status\":200,\"headers\":1}", "\"headers\" is not an object"},
	{"{\"status\":200,\"headers\":{\"a\":1}}", "a header is not a string"},
	{"{\"status\":200,\"headers\":{\"\":\"\"}}",
		"a header has a character that is not allowed"},
	{"{\"status\":200,\"headers\":{\"a b\":\"\"}}",
		"a header has a character that is not allowed"},
	{"{\"status\":200,\"headers\":{\"a\":\"\\n\"}}",
		"a header has a character that is not allowed"},
	{"{\"status\":200,\"headers\":{\"Transfer-Encoding\":\"chunked\"}}",
		"a header that only the server sets"},
};

static void test_answers(void)
{
	struct plugin_answer an;
	const char *why;

	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		struct json_val root = parse(answers[i].reply);

		why = "";
		is_int(plugin_answer_read(&an, root, &arena, &why),
			answers[i].why ? ERR_SYNTAX : 0, "%s", answers[i].reply);
		is_str(why, answers[i].why ? answers[i].why : "", "...the reason");
		buf_free(&an.body);
	}
	is_int(plugin_answer_read(&an,
		       parse("{\"status\":201,\"body64\":\"AP8=\",\"headers\":{"
			     "\"X-a\":\"1\",\"Content-type\":\"t\",\"b\":\"\"}}"),
		       &arena, &why),
		0, "one with all");
	ok(an.status == 201 && an.fields_n == 2 && str_eq(an.fields[0].name, STR("X-a")),
		"status and headers");
	is_str(an.type, "t", "its type");
	is_mem(an.body.p, an.body.n, "\0\xff", 2, "its body");
	buf_free(&an.body);
}

static void test_pieces(void)
{
	struct plugin_answer an;
	const char *why = "";

	is_int(plugin_piece_read(&an,
		       parse("{\"status\":1,\"body\":\"x\",\"more\":true}"), &arena,
		       &why),
		0, "a piece");
	ok(an.more && !an.status && an.body.n == 1, "of which the rest does not count");
	buf_free(&an.body);
	is_int(plugin_piece_read(&an, parse("{}"), &arena, &why), 0, "an empty one");
	ok(!an.more && !an.body.n, "is the last");
	buf_free(&an.body);
	is_int(plugin_piece_read(&an, parse("{\"body64\":\"?\"}"), &arena, &why),
		ERR_SYNTAX, "a bad one");
	is_str(why, "\"body64\" is not Base64", "...with the reason");
	buf_free(&an.body);
}

/* --- Calls -------------------------------------------------------------------- */

static void test_written(void)
{
	static const struct {
		struct str body;
		const char *out;
	} bodies[] = {
		{{"", 0}, "{\"body\":\"\"}"},
		{{"a\n\t\"\\\xc3\xa9", 7}, "{\"body\":\"a\\n\\t\\\"\\\\\xc3\xa9\"}"},
		{{"\0", 1}, "{\"body64\":\"AA==\"}"},
		{{"\xc3", 1}, "{\"body64\":\"ww==\"}"},
		{{"\x7f", 1}, "{\"body64\":\"fw==\"}"},
	};
	struct buf out = BUF_INIT(4096);
	struct jw w;

	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		buf_reset(&out);
		jw_init(&w, &out);
		jw_object(&w);
		plugin_body_write(&w, bodies[i].body);
		jw_end(&w);
		is_view(buf_view(&out), bodies[i].out, "a body");
	}
	buf_reset(&out);
	arena_reset(&arena);
	jw_init(&w, &out);
	is_int(plugin_json_write(
		       &w, STR("{ \"a \\\" \\\\\" :\r\n\t[ 1 , \" \"] }"), &arena),
		0, "JSON");
	is_view(buf_view(&out), "{\"a \\\" \\\\\":[1,\" \"]}", "...without blanks");
	buf_free(&out);
}

/* --- Programs of ours ---------------------------------------------------------- */

static void test_own(void)
{
	static const struct {
		const char *line, *observation; /* NULL: it is no such reply */
		uint64_t id;
	} rows[] = {
		{"{\"op\":\"reply\",\"id\":7,\"observation\":{\"content\":\"x\"}}",
			"{\"content\":\"x\"}", 7},
		{"{\"op\":\"reply\",\"id\":7,\"observation\":{}}", "{}", 7},
		{"{\"op\":\"reply\",\"id\":7,\"observation\":{}", NULL, 0},
		{"{\"op\":\"reply\",\"id\":x,\"observation\":{}}", NULL, 0},
		{"{\"op\":\"reply\",\"id\":,\"observation\":{}}", NULL, 0},
		{"{\"op\":\"reply\",\"id\":7,\"error\":\"{}}", NULL, 0},
		{"{\"op\":\"reply\",\"id\":7}}", NULL, 0},
		{"{\"op\":\"reply\",\"id\":}}", NULL, 0},
		{"{\"op\":\"ready\"}", NULL, 0},
		{"}}", NULL, 0},
		{"", NULL, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str observation = STR("");
		uint64_t id = 0;
		bool is =
			plugin_frame_match_reply(str_c(rows[i].line), &id, &observation);

		is_int(is, rows[i].observation != NULL, "%s", rows[i].line);
		if (!is || !rows[i].observation)
			continue;
		is_view(observation, rows[i].observation, "its observation");
		is_int(id, rows[i].id, "its id");
	}
}

int main(void)
{
	arena_init(&arena, PLUGIN_JSON_MAX);
	test_frames();
	test_observations();
	test_answers();
	test_pieces();
	test_written();
	arena_reset(&arena);
	test_own();
	return done_testing();
}
