#include "codec/http/http.h"

enum {
	HTTP_METHOD_MAX = 24, /* the longest registered method has 17 letters */
	/* METHOD SP TARGET SP HTTP/1.1 CRLF */
	START_MAX = HTTP_METHOD_MAX + 1 + HTTP_TARGET_MAX + 1 + 8 + 2,
	PORT_DIGITS = 5,
};

/*
 * The largest length: other parsers keep lengths in doubles, which are inexact above it.
 */
#define LENGTH_MAX ((uint64_t)1 << 53)

static const bool token_char[256] = {
	['!'] = true,
	['#' ... '\''] = true,
	['*' ... '+'] = true,
	['-' ... '.'] = true,
	['0' ... '9'] = true,
	['A' ... 'Z'] = true,
	['^' ... 'z'] = true,
	['|'] = true,
	['~'] = true,
};

static const struct http_fault start_too_long = {414, "The request line is too long."};
static const struct http_fault head_too_long = {431, "The request head is too large."};

/* The head being parsed, and the values of its fields so far. */
struct http_parser {
	struct http_head *head;
	struct str in;
	const struct http_fault *fault;
	struct str host;
	bool has_host, has_length, has_coding, close, keep_alive;
};

static int http_set_fault(struct http_parser *g, const struct http_fault *fault)
{
	g->fault = fault;
	return ERR_SYNTAX;
}

/* Stores the fault and evaluates to the value to return. */
#define FAIL(g, code, text) \
	({ \
		static const struct http_fault fault_ = {(code), (text)}; \
		http_set_fault((g), &fault_); \
	})

bool http_is_token_char(unsigned char c)
{
	return token_char[c];
}

bool http_is_value_char(unsigned char c)
{
	return c == '\t' || (c >= 0x20 && c != 0x7f);
}

static bool http_is_target_char(unsigned char c)
{
	return c > 0x20 && c < 0x7f && c != '#';
}

static bool http_is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

static bool http_is_name_char(unsigned char c)
{
	return http_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c && strchr("-._~%", c));
}

static bool http_is_ipv6_char(unsigned char c)
{
	return http_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
		c == ':' || c == '.';
}

typedef bool class_fn(unsigned char c);

static bool http_has_only(struct str s, class_fn *in_class)
{
	for (size_t i = 0; i < s.n; i++)
		if (!in_class((unsigned char)s.p[i]))
			return false;
	return true;
}

static bool http_is_token(struct str s)
{
	return s.n > 0 && http_has_only(s, http_is_token_char);
}

static struct http_span http_make_span(const struct http_parser *g, struct str s)
{
	return (struct http_span){(uint16_t)(s.p - g->in.p), (uint16_t)s.n};
}

/*
 * Takes the next line, without its CRLF; the line must end before the offset end. Each
 * byte is examined only once, even if a line arrives in many small pieces.
 */
static int http_read_line(struct http_parser *g, size_t end,
	const struct http_fault *too_long, struct str *line)
{
	struct http_head *h = g->head;
	size_t have = g->in.n < end ? g->in.n : end;
	size_t at = h->line;
	const char *lf = memchr(g->in.p + h->scanned, '\n', have - h->scanned);

	if (!lf) {
		h->scanned = (uint16_t)have;
		return have == end ? http_set_fault(g, too_long) : 1;
	}
	h->line = h->scanned = (uint16_t)(lf + 1 - g->in.p);
	if (lf == g->in.p + at || lf[-1] != '\r')
		return FAIL(g, 400, "A line of the head does not end in CRLF.");
	*line = str_make(g->in.p + at, (size_t)(lf - 1 - g->in.p) - at);
	return 0;
}

static int http_parse_field(struct http_parser *g, struct str line)
{
	struct http_head *h = g->head;
	struct str value = line;
	struct str name = str_cut(&value, ':');

	if (line.p[0] == ' ' || line.p[0] == '\t')
		return FAIL(g, 400, "A header is folded over several lines.");
	if (name.n == line.n)
		return FAIL(g, 400, "A header has no colon.");
	if (!http_is_token(name))
		return FAIL(g, 400, "A header name is malformed.");
	if (!http_has_only(value, http_is_value_char))
		return FAIL(g, 400, "A header value has a control character.");
	if (h->fields_n == HTTP_FIELDS_MAX)
		return FAIL(g, 431, "The request has too many headers.");
	value = str_trim(value, " \t");
	h->fields[h->fields_n++] =
		(struct http_field){http_make_span(g, name), http_make_span(g, value)};
	return 0;
}

static int http_parse_fields(struct http_parser *g)
{
	for (;;) {
		struct str line;
		int r = http_read_line(g, HTTP_HEAD_MAX, &head_too_long, &line);

		if (r)
			return r;
		if (line.n == 0) {
			g->head->n = g->head->line;
			return 0;
		}
		r = http_parse_field(g, line);
		if (r)
			return r;
	}
}

static int http_parse_version(struct http_parser *g, struct str v)
{
	if (v.n != 8 || !str_starts(v, STR("HTTP/")) ||
		!http_is_digit((unsigned char)v.p[5]) || v.p[6] != '.' ||
		!http_is_digit((unsigned char)v.p[7]))
		return FAIL(g, 400, "The HTTP version is malformed.");
	if (v.p[5] != '1' || v.p[7] > '1')
		return FAIL(g, 505, "Only HTTP/1.1 and HTTP/1.0 are supported.");
	g->head->minor = (uint8_t)(v.p[7] - '0');
	return 0;
}

/* Rules for single fields; the results are stored in the gate. */

static bool http_is_host(struct str host)
{
	struct str rest = host;
	struct str name;

	if (str_starts(host, STR("["))) {
		size_t n = str_find_byte(host, ']');

		name = str_make(host.p + 1, n - 1);
		rest = str_skip(host, n + 1);
		if (n == host.n || !http_has_only(name, http_is_ipv6_char) ||
			(rest.n && *rest.p != ':'))
			return false;
		rest = str_skip(rest, 1);
	} else {
		name = str_cut(&rest, ':');
		if (!http_has_only(name, http_is_name_char))
			return false;
	}
	return name.n > 0 && rest.n <= PORT_DIGITS && http_has_only(rest, http_is_digit);
}

static int http_check_host(struct http_parser *g, struct str value)
{
	if (g->has_host)
		return FAIL(g, 400, "The Host header is given twice.");
	if (!http_is_host(value))
		return FAIL(g, 400, "The Host header is malformed.");
	g->has_host = true;
	g->host = value;
	return 0;
}

static int http_check_length(struct http_parser *g, struct str value)
{
	if (g->has_length)
		return FAIL(g, 400, "The Content-Length header is given twice.");
	if (str_u64(value, LENGTH_MAX, &g->head->length))
		return FAIL(g, 400, "The Content-Length header is not a number.");
	g->has_length = true;
	return 0;
}

static int http_check_coding(struct http_parser *g, struct str value)
{
	if (g->has_coding)
		return FAIL(g, 400, "The Transfer-Encoding header is given twice.");
	if (!str_eq_nocase(value, STR("chunked")))
		return FAIL(g, 501, "The only supported transfer coding is chunked.");
	g->has_coding = true;
	return 0;
}

static int http_check_connection(struct http_parser *g, struct str value)
{
	while (value.n) {
		struct str option = str_trim(str_cut(&value, ','), " \t");

		if (option.n && !http_is_token(option))
			return FAIL(g, 400, "The Connection header is malformed.");
		if (str_eq_nocase(option, STR("close")))
			g->close = true;
		else if (str_eq_nocase(option, STR("keep-alive")))
			g->keep_alive = true;
	}
	return 0;
}

static int http_check_expect(struct http_parser *g, struct str value)
{
	if (!str_eq_nocase(value, STR("100-continue")))
		return FAIL(g, 417, "The only supported expectation is 100-continue.");
	/* RFC 9110, 10.1.1: a 1.0 client would not understand the answer. */
	g->head->expect_continue = g->head->minor > 0;
	return 0;
}

struct rule {
	struct str name;
	int (*apply)(struct http_parser *g, struct str value);
};

#define NAME(lit) \
	{ \
		lit, sizeof(lit) - 1 \
	}

static const struct rule rules_of_all[] = {
	{NAME("Content-Length"), http_check_length},
	{NAME("Transfer-Encoding"), http_check_coding},
	{NAME("Connection"), http_check_connection},
};

static const struct rule rules_of_requests[] = {
	{NAME("Host"), http_check_host},
	{NAME("Expect"), http_check_expect},
};

static int http_apply_rules(
	struct http_parser *g, const struct rule *rules, size_t rules_n)
{
	for (unsigned i = 0; i < g->head->fields_n; i++) {
		const struct http_field *f = &g->head->fields[i];
		struct str name = http_text(g->in.p, f->name);

		for (size_t k = 0; k < rules_n; k++) {
			int r = 0;

			if (str_eq_nocase(name, rules[k].name))
				r = rules[k].apply(g, http_text(g->in.p, f->value));
			if (r)
				return r;
		}
	}
	return 0;
}

/* Sets the length of the body and whether the connection stays: RFC 9112, 6.3 and 9.3. */
static int http_set_framing(struct http_parser *g)
{
	struct http_head *h = g->head;
	int r = http_apply_rules(g, rules_of_all, ARRAY_LEN(rules_of_all));

	if (r)
		return r;
	if (g->has_coding && g->has_length)
		return FAIL(
			g, 400, "Both Content-Length and Transfer-Encoding are given.");
	if (g->has_coding && h->minor == 0)
		return FAIL(g, 400, "HTTP/1.0 has no transfer codings.");
	if (g->has_coding)
		h->framing = HTTP_CHUNKED;
	else if (g->has_length && h->length)
		h->framing = HTTP_LENGTH;
	h->keep_alive = !g->close && (h->minor > 0 || g->keep_alive);
	return 0;
}

/* Requests. */

void http_request_init(struct http_request *r)
{
	r->head.n = r->head.line = r->head.scanned = 0;
	r->head.minor = 0;
	r->head.keep_alive = r->head.expect_continue = false;
	r->head.framing = HTTP_NO_BODY;
	r->head.length = 0;
	r->head.fields_n = 0;
	r->method = r->path = r->query = r->authority = (struct http_span){0, 0};
	r->fault = NULL;
}

/* Splits the target into path and query. The target starts with its path. */
static void http_set_path(
	struct http_request *r, const struct http_parser *g, struct str target)
{
	struct str path = str_cut(&target, '?');

	r->path = http_make_span(g, path);
	r->query = http_make_span(g, target);
}

static int http_parse_target(
	struct http_request *r, struct http_parser *g, struct str target)
{
	const struct str scheme = STR("http://");
	struct str rest = str_skip(target, scheme.n);
	size_t n = 0;

	if (!http_has_only(target, http_is_target_char))
		return FAIL(g, 400, "The request target has a forbidden character.");
	if (str_starts(target, STR("/")) ||
		(str_eq(target, STR("*")) &&
			str_eq(http_text(g->in.p, r->method), STR("OPTIONS")))) {
		http_set_path(r, g, target);
		return 0;
	}
	if (!str_eq_nocase(
		    str_make(target.p, scheme.n < target.n ? scheme.n : 0), scheme))
		return FAIL(g, 400, "The request target is neither a path nor http.");
	while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?')
		n++;
	r->authority = http_make_span(g, str_make(rest.p, n));
	http_set_path(r, g, str_skip(rest, n));
	/*
	 * An empty path means "/" (RFC 9112, 3.2.2): uses the last "/" of the scheme for
	 * it.
	 */
	if (r->path.n == 0)
		r->path = http_make_span(g, str_make(rest.p - 1, 1));
	return 0;
}

/* Skips and checks the bytes at the start of the first line. 1: more bytes are needed. */
static int http_check_start(struct http_parser *g)
{
	struct http_head *h = g->head;

	/*
	 * A single CRLF before the request line is ignored (RFC 9112, 2.2): some old
	 * clients send it after a body.
	 */
	if (h->line == 0 && g->in.n && g->in.p[0] == '\r') {
		if (g->in.n == 1)
			return 1;
		if (g->in.p[1] == '\n')
			h->line = h->scanned = 2;
	}
	if (g->in.n == h->line)
		return 1;
	/* TLS or binary data is refused at once, not only when the deadline passes. */
	if (!http_is_token_char((unsigned char)g->in.p[h->line]))
		return FAIL(g, 400, "This is not an HTTP request.");
	return 0;
}

static int http_parse_request_line(struct http_request *r, struct http_parser *g)
{
	struct str rest, method, target;
	int e = http_check_start(g);

	if (!e)
		e = http_read_line(
			g, g->head->line + (size_t)START_MAX, &start_too_long, &rest);
	if (e)
		return e;
	method = str_cut(&rest, ' ');
	target = str_cut(&rest, ' ');
	if (!http_is_token(method))
		return FAIL(g, 400, "The method is malformed.");
	if (method.n > HTTP_METHOD_MAX)
		return FAIL(g, 501, "The method is unknown.");
	if (target.n > HTTP_TARGET_MAX)
		return http_set_fault(g, &start_too_long);
	r->method = http_make_span(g, method);
	e = http_parse_version(g, rest);
	return e ? e : http_parse_target(r, g, target);
}

/* Applies the rules that concern a well-formed request as a whole. */
static int http_check_request(struct http_request *r, struct http_parser *g)
{
	int e = http_apply_rules(g, rules_of_requests, ARRAY_LEN(rules_of_requests));

	if (!e)
		e = http_set_framing(g);
	if (e)
		return e;
	if (g->head->minor > 0 && !g->has_host)
		return FAIL(g, 400, "The Host header is missing.");
	if (r->authority.n || r->authority.at) {
		struct str authority = http_text(g->in.p, r->authority);

		if (!http_is_host(authority) ||
			(g->has_host && !str_eq_nocase(authority, g->host)))
			return FAIL(g, 400, "The request target is on another host.");
	}
	return 0;
}

int http_request_parse(struct http_request *r, struct str in)
{
	struct http_parser g = {.head = &r->head, .in = in};
	int e = r->method.n ? 0 : http_parse_request_line(r, &g);

	if (!e)
		e = http_parse_fields(&g);
	if (!e)
		e = http_check_request(r, &g);
	if (e < 0)
		r->fault = g.fault;
	return e;
}

/* Responses. */

void http_response_init(struct http_response *r, bool head_request)
{
	*r = (struct http_response){.to_head = head_request};
}

static int http_parse_status_line(struct http_response *r, struct http_parser *g)
{
	struct str rest, version, code;
	uint64_t status;
	int e = g->in.n ? http_read_line(g, HTTP_HEAD_MAX, &head_too_long, &rest) : 1;

	if (e)
		return e;
	version = str_cut(&rest, ' ');
	code = str_cut(&rest, ' ');
	e = http_parse_version(g, version);
	if (e)
		return e;
	if (code.n != 3 || str_u64(code, 599, &status) || status < 100)
		return FAIL(g, 502, "The status is malformed.");
	if (!http_has_only(rest, http_is_value_char))
		return FAIL(g, 502, "The reason phrase has a control character.");
	r->status = (unsigned)status;
	return 0;
}

static int http_check_response(struct http_response *r, struct http_parser *g)
{
	struct http_head *h = &r->head;
	int e = http_set_framing(g);

	if (e)
		return e;
	if (r->to_head || r->status < 200 || r->status == 204 || r->status == 304) {
		h->framing = HTTP_NO_BODY;
	} else if (!g->has_coding && !g->has_length) {
		h->framing = HTTP_UNTIL_CLOSE;
		h->keep_alive = false;
	}
	return 0;
}

int http_response_parse(struct http_response *r, struct str in)
{
	struct http_parser g = {.head = &r->head, .in = in};
	int e = r->status ? 0 : http_parse_status_line(r, &g);

	if (!e)
		e = http_parse_fields(&g);
	if (!e)
		e = http_check_response(r, &g);
	if (e < 0)
		r->fault = g.fault;
	return e;
}

int http_field_find(
	const struct http_head *h, const char *p, struct str name, struct str *value)
{
	const struct http_field *found = NULL;

	for (unsigned i = 0; i < h->fields_n; i++) {
		const struct http_field *f = &h->fields[i];

		if (!str_eq_nocase(http_text(p, f->name), name))
			continue;
		if (found)
			return ERR_DUPLICATE;
		found = f;
	}
	if (!found)
		return 1;
	*value = http_text(p, found->value);
	return 0;
}
