#include "inject/registry/challenge.h"

#include "codec/http/http.h"

#include <errno.h>

static struct str challenge_skip_blanks(struct str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = str_skip(s, 1);
	return s;
}

/* Skips blanks and commas between elements; a list may have empty elements. */
static struct str challenge_skip_commas(struct str s)
{
	for (s = challenge_skip_blanks(s); s.n && s.p[0] == ',';
		s = challenge_skip_blanks(s))
		s = str_skip(s, 1);
	return s;
}

static struct str challenge_parse_token(struct str *s)
{
	struct str t = str_make(s->p, 0);

	while (t.n < s->n && http_is_token_char((unsigned char)s->p[t.n]))
		t.n++;
	*s = str_skip(*s, t.n);
	return t;
}

/* Parses a quoted string after its first quote. */
static int challenge_parse_quoted(struct str *s, struct arena *a, struct str *out)
{
	char *p = arena_alloc(a, s->n + 1);
	size_t n = 0;

	if (!p)
		return -ENOMEM;
	while (s->n && s->p[0] != '"') {
		if (s->p[0] == '\\')
			*s = str_skip(*s, 1);
		if (!s->n || !http_is_value_char((unsigned char)s->p[0]))
			return ERR_SYNTAX;
		p[n++] = s->p[0];
		*s = str_skip(*s, 1);
	}
	if (!s->n)
		return ERR_SYNTAX;
	*s = str_skip(*s, 1);
	*out = str_make(p, n);
	return 0;
}

static struct str *challenge_find_param(struct challenge *c, struct str name)
{
	const struct {
		struct str name;
		struct str *at;
	} known[] = {
		{STR("realm"), &c->realm},
		{STR("service"), &c->service},
		{STR("scope"), &c->scope},
		{STR("error"), &c->error},
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (str_eq_nocase(name, known[i].name))
			return known[i].at;
	return NULL;
}

/* Parses name = value; 1, with *rest unchanged, if a scheme follows instead. */
static int challenge_parse_param(struct str *rest, struct arena *a, struct challenge *c)
{
	struct str s = *rest, value = {0};
	struct str name = challenge_parse_token(&s);
	struct str *at = challenge_find_param(c, name);
	int r = 0;

	s = challenge_skip_blanks(s);
	if (!name.n)
		return ERR_SYNTAX;
	if (!s.n || s.p[0] != '=')
		return 1;
	s = challenge_skip_blanks(str_skip(s, 1));
	if (s.n && s.p[0] == '"') {
		s = str_skip(s, 1);
		r = challenge_parse_quoted(&s, a, &value);
	} else {
		value = challenge_parse_token(&s);
		r = value.n ? 0 : ERR_SYNTAX;
	}
	if (r)
		return r;
	s = challenge_skip_blanks(s);
	if (s.n && s.p[0] != ',')
		return ERR_SYNTAX;
	if (at && at->p)
		return ERR_DUPLICATE;
	if (at)
		*at = value;
	*rest = s;
	return 0;
}

/* Whether a run of token68 bytes follows, as for Negotiate; skips it. */
static bool challenge_skip_token68(struct str *rest)
{
	struct str s = *rest;
	size_t n = 0;

	while (n < s.n && (http_is_token_char((unsigned char)s.p[n]) || s.p[n] == '/'))
		n++;
	if (!n)
		return false;
	s = str_skip(s, n);
	while (s.n && s.p[0] == '=')
		s = str_skip(s, 1);
	s = challenge_skip_blanks(s);
	if (s.n && s.p[0] != ',')
		return false;
	*rest = s;
	return true;
}

int challenge_next(struct str *rest, struct arena *a, struct challenge *c)
{
	struct challenge got = {0};
	struct str s = challenge_skip_commas(*rest);
	struct str scheme = challenge_parse_token(&s);
	int r = 0;

	if (!scheme.n)
		return s.n ? ERR_SYNTAX : 1;
	if (s.n && !memchr(" \t,", s.p[0], 3))
		return ERR_SYNTAX;
	if (str_eq_nocase(scheme, STR("Basic")))
		got.scheme = CHALLENGE_BASIC;
	else if (str_eq_nocase(scheme, STR("Bearer")))
		got.scheme = CHALLENGE_BEARER;
	s = challenge_skip_blanks(s);
	if (s.n && s.p[0] != ',' && !challenge_skip_token68(&s)) {
		r = challenge_parse_param(&s, a, &got);
		if (r > 0)
			r = ERR_SYNTAX;
	}
	/* After a comma a parameter or the next scheme follows. */
	while (!r) {
		struct str next = challenge_skip_commas(s);

		s = next;
		if (!next.n)
			break;
		r = challenge_parse_param(&s, a, &got);
	}
	if (r < 0)
		return r;
	*rest = s;
	*c = got;
	return 0;
}
