#include "codec/jmsg.h"
#include "tests/tap.h"

#include <bearssl_hmac.h>

#include <stdlib.h>

static const struct str key = STR("a0436f6c-1916-498b-8eb9-e81ab9368e84");
static struct arena arena;

/* The parts as they come: a topic, the delimiter, a signature, four texts. */
struct sent {
	struct str parts[8];
	char signature[SHA256_HEX + 1];
};

static void sign(struct sent *s, struct str k)
{
	br_hmac_key_context kc;
	br_hmac_context c;
	uint8_t mac[SHA256_LEN];

	br_hmac_key_init(&kc, &br_sha256_vtable, k.p, k.n);
	br_hmac_init(&c, &kc, 0);
	for (int i = 3; i < 7; i++)
		br_hmac_update(&c, s->parts[i].p, s->parts[i].n);
	br_hmac_out(&c, mac);
	hex_encode(mac, sizeof(mac), s->signature);
	s->parts[2] = str_c(s->signature);
}

static void make(
	struct sent *s, const char *header, const char *parent, struct str content)
{
	s->parts[0] = STR("topic");
	s->parts[1] = STR("<IDS|MSG>");
	s->parts[3] = str_c(header);
	s->parts[4] = str_c(parent);
	s->parts[5] = STR("{}");
	s->parts[6] = content;
	s->parts[7] = STR("a buffer");
	sign(s, key);
}

static int read_one(const struct sent *s, size_t n, struct jmsg *m, const char **why)
{
	struct jmsg_session js;
	int r = jmsg_session_init(&js, key);

	arena_rewind(&arena);
	return r ? r : jmsg_read(&js, s->parts, n, &arena, m, why);
}

/* A message of that type and content, signed as it has to be. */
static int read_as(const char *type, const char *content, struct jmsg *m)
{
	const char *why = "";
	char header[128];
	struct sent s;

	snprintf(header, sizeof(header), "{\"msg_type\":\"%s\"}", type);
	make(&s, header, "{\"msg_id\":\"p\"}", str_c(content));
	return read_one(&s, 8, m, &why);
}

static void test_requests(void)
{
	struct jmsg_out o = {0};
	struct jmsg_session s;
	struct sent sent = {0};
	char first[JMSG_ID_MAX];

	is_int(jmsg_session_init(&s, key), 0, "a session");
	is_int(jmsg_execute_request(&s, STR("print(\"é\")\n"), &o), 0, "execute_request");
	is_view(o.parts[0], "<IDS|MSG>", "it begins with the delimiter");
	is_view(o.parts[3], "{}", "no parent");
	is_view(o.parts[4], "{}", "no metadata");
	is_view(o.parts[5],
		"{\"code\":\"print(\\\"é\\\")\\n\",\"silent\":false,\"store_history\":"
		"false,"
		"\"user_expressions\":{},\"allow_stdin\":false,\"stop_on_error\":false}",
		"its content");
	for (int i = 2; i < 6; i++)
		sent.parts[i + 1] = o.parts[i];
	sign(&sent, key);
	is_view(o.parts[1], sent.signature, "signed over four texts");
	ok(str_find(o.parts[2], STR("\"msg_type\":\"execute_request\"")) < o.parts[2].n &&
			str_find(o.parts[2], str_c(o.id)) < o.parts[2].n &&
			str_find(o.parts[2], STR("\"version\":\"5.3\"")) < o.parts[2].n,
		"its header");
	memcpy(first, o.id, sizeof(first));
	is_int(jmsg_plain_request(&s, "kernel_info_request", &o), 0,
		"kernel_info_request");
	is_view(o.parts[5], "{}", "has nothing to tell");
	ok(strcmp(first, o.id) != 0, "and another id");
	is_int(jmsg_restart_request(&s, &o), 0, "shutdown_request");
	is_view(o.parts[5], "{\"restart\":true}", "its content");
	is_int(jmsg_session_init(&s, STR("")), 0, "a session without a key");
	is_int(jmsg_plain_request(&s, "x", &o), 0, "a request of it");
	is_view(o.parts[1], "", "is not signed");
	jmsg_out_free(&o);
}

static void test_cap(void)
{
	struct jmsg_out o = {0};
	struct jmsg_session s;
	size_t n = JMSG_OUT_MAX + 1;
	char *code = calloc(1, n);

	is_int(jmsg_session_init(&s, key), 0, "a session");
	is_int(jmsg_execute_request(&s, str_make(code, n), &o), ERR_LIMIT,
		"a cell beyond the cap");
	is_int(jmsg_execute_request(&s, STR("1"), &o), 0, "the next one is sent");
	free(code);
	jmsg_out_free(&o);
}

/* RFC 4231, test case 2, over one text. */
static void test_vector(void)
{
	struct sent s = {0};

	s.parts[4] = STR("what do ya want for nothing?");
	s.parts[3] = s.parts[5] = s.parts[6] = STR("");
	sign(&s, STR("Jefe"));
	is_str(s.signature,
		"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
		"HMAC-SHA256");
}

static void test_envelope(void)
{
	static const char header[] = "{\"msg_type\":\"x\"}",
			  parent[] = "{\"msg_id\":\"p\"}";
	const char *why = "";
	struct jmsg m = {0};
	struct sent s;
	size_t wrong = 0;

	make(&s, header, parent, STR("{}"));
	is_int(read_one(&s, 8, &m, &why), 0, "with a topic and a buffer");
	is_view(m.parent, "p", "its parent");
	is_view(m.name, "x", "its type");
	is_int(m.type, JMSG_OTHER, "which is not known");
	for (size_t n = 0; n < 7; n++)
		wrong += read_one(&s, n, &m, &why) != ERR_SYNTAX;
	is_int(wrong, 0, "cut short at each part");
	for (size_t i = 0; i < SHA256_HEX; i++) {
		s.signature[i] ^= 1;
		wrong += read_one(&s, 8, &m, &why) != ERR_SYNTAX;
		s.signature[i] ^= 1;
	}
	is_int(wrong, 0, "each digit of the signature counts");
	for (int i = 3; i < 7; i++) {
		struct str kept = s.parts[i];

		s.parts[i] = STR("{\"a\":1}");
		is_int(read_one(&s, 8, &m, &why), ERR_SYNTAX, "text %d is signed", i - 3);
		is_str(why, "its signature is wrong", "and why");
		s.parts[i] = kept;
	}
	s.parts[2] = STR("");
	is_int(read_one(&s, 8, &m, &why), ERR_SYNTAX, "without a signature");
}

static void test_texts(void)
{
	static const struct {
		const char *header, *parent, *content;
		int want;
	} cases[] = {
		{"{}", "{}", "{}", ERR_TYPE},
		{"{\"msg_type\":1}", "{}", "{}", ERR_TYPE},
		{"{\"msg_type\":\"x\"}", "{\"msg_id\":1}", "{}", ERR_TYPE},
		{"{\"msg_type\":\"x\"}", "{}", "[]", ERR_TYPE},
		{"{\"msg_type\":\"x\"}", "{}", "{", ERR_SYNTAX},
		{"{\"msg_type\":\"x\"}", "", "{}", ERR_SYNTAX},
		{"", "{}", "{}", ERR_SYNTAX},
		{"{\"msg_type\":\"x\",\"msg_type\":\"y\"}", "{}", "{}", ERR_DUPLICATE},
		{"{\"msg_type\":\"x\"}", "{}", "{}", 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *why = "";
		struct jmsg m = {.parent = STR("as it was")};
		struct sent s;

		make(&s, cases[i].header, cases[i].parent, str_c(cases[i].content));
		is_int(read_one(&s, 8, &m, &why), cases[i].want, "texts %zu", i);
		ok(cases[i].want == 0 || *why, "with a reason");
		is_view(m.parent, cases[i].want ? "as it was" : "", "and the message");
	}
}

static void test_contents(void)
{
	struct str text = STR("");
	struct jmsg m;

	is_int(read_as("status", "{\"execution_state\":\"idle\"}", &m), 0, "status");
	ok(m.type == JMSG_STATUS && m.state == JMSG_IDLE, "idle");
	is_int(read_as("status", "{\"execution_state\":\"busy\"}", &m), 0, "status");
	ok(m.type == JMSG_STATUS && m.state == JMSG_BUSY, "busy");
	is_int(read_as("status", "{\"execution_state\":\"dead\"}", &m), 0, "status");
	is_int(m.type, JMSG_OTHER, "of a state that is not known");
	is_int(read_as("stream", "{\"name\":\"stdout\",\"text\":\"a\\nb\"}", &m), 0,
		"stream");
	is_view(m.stream.name, "stdout", "its name");
	is_view(m.stream.text, "a\nb", "its text");
	is_int(read_as("execute_result",
		       "{\"execution_count\":1,\"data\":{\"text/plain\":\"2\"},"
		       "\"metadata\":{}}",
		       &m),
		0, "execute_result");
	is_int(json_str(json_get(m.data, "text/plain"), &arena, &text), 0, "its text");
	is_view(text, "2", "is that");
	is_int(read_as("error",
		       "{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[\"a\",\"b\"]}",
		       &m),
		0, "error");
	is_view(m.error.name, "E", "its name");
	is_view(m.error.value, "v", "its value");
	is_int(json_count(m.error.traceback), 2, "its traceback");
	is_int(read_as("execute_reply", "{\"status\":\"ok\",\"payload\":[]}", &m), 0,
		"reply");
	ok(m.reply.outcome == JMSG_OK, "ok");
	is_int(read_as("execute_reply", "{\"status\":\"error\"}", &m), 0, "reply");
	ok(m.reply.outcome == JMSG_FAILED, "error");
	is_int(read_as("execute_reply", "{\"status\":\"aborted\"}", &m), 0, "reply");
	ok(m.reply.outcome == JMSG_ABORTED, "aborted");
}

static void test_bad_contents(void)
{
	static const char *const cases[][2] = {
		{"status", "{}"},
		{"status", "{\"execution_state\":1}"},
		{"stream", "{\"name\":\"stdout\"}"},
		{"stream", "{\"name\":\"stdout\",\"text\":[]}"},
		{"stream", "{\"text\":\"a\"}"},
		{"execute_result", "{\"data\":\"2\"}"},
		{"display_data", "{}"},
		{"error", "{\"ename\":\"E\",\"evalue\":\"v\"}"},
		{"error", "{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[1]}"},
		{"error",
			"{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":{\"a\":\"b\"}}"},
		{"error", "{\"evalue\":\"v\",\"traceback\":[]}"},
		{"execute_reply", "{}"},
	};
	struct jmsg m;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		is_int(read_as(cases[i][0], cases[i][1], &m), ERR_TYPE, "%s %s",
			cases[i][0], cases[i][1]);
}

static void test_repair(void)
{
	static const char *const cases[][2] = {
		{"a\x80z", "a\xef\xbf\xbdz"},
		{"\\ud800", "\xef\xbf\xbd"},
		{"\\udc80\\n", "\xef\xbf\xbd\n"},
		{"\\ud800\\u0041",
			"\xef\xbf\xbd"
			"A"},
		{"\xff\\ud83d\\ude00\\\\ud800", "\xef\xbf\xbd\xf0\x9f\x98\x80\\ud800"},
		{"\xed\xa0\x80\\\"", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	};
	char content[256];
	struct jmsg m;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(content, sizeof(content),
			"{\"name\":\"stdout\",\"text\":\"%s\"}", cases[i][0]);
		if (is_int(read_as("stream", content, &m), 0, "repair %zu", i))
			is_view(m.stream.text, cases[i][1], "to that");
	}
	is_int(read_as("stream", "{\"name\":\"\x80\\", &m), ERR_SYNTAX,
		"an unfinished escape");
}

int main(void)
{
	arena_init(&arena, JMSG_ARENA_MAX);
	test_requests();
	test_cap();
	test_vector();
	test_envelope();
	test_texts();
	test_contents();
	test_bad_contents();
	test_repair();
	arena_reset(&arena);
	return done_testing();
}
