/* Whose page asks: by the fields that browsers send and pages cannot choose. */
#include "srv/origin.h"

#include "tests/tap.h"

/* The fields of the request; NULL: there is none; "2": there are two of it. */
static struct fields {
	const char *host, *origin, *site;
} now;

int request_header(const struct request *rq, struct str name, struct str *value)
{
	const char *v = str_eq(name, STR("host"))     ? now.host
		: str_eq(name, STR("origin"))         ? now.origin
		: str_eq(name, STR("sec-fetch-site")) ? now.site
						      : NULL;

	(void)rq;
	if (v && !strcmp(v, "2"))
		return ERR_DUPLICATE;
	if (!v)
		return 1;
	*value = str_c(v);
	return 0;
}

static const struct row {
	struct fields fields;
	unsigned status, elsewhere; /* the second where pages may be from elsewhere */
} rows[] = {
	{{NULL, NULL, NULL}, 0, 0},
	{{"localhost", NULL, NULL}, 0, 0},
	{{"localhost:8000", NULL, NULL}, 0, 0},
	{{"127.0.0.1:8000", NULL, NULL}, 0, 0},
	{{"10.0.0.7", NULL, NULL}, 0, 0},
	{{"[::1]:8000", NULL, NULL}, 0, 0},
	{{"sandbox", NULL, NULL}, 0, 0},
	{{"sandbox:80", NULL, NULL}, 0, 0},
	{{"box.ns.svc.cluster.LOCAL", NULL, NULL}, 0, 0},
	{{"host.docker.internal:1", NULL, NULL}, 0, 0},
	{{"", NULL, NULL}, 0, 0},

	/* Names that anybody may have. */
	{{"evil.test", NULL, NULL}, 421, 421},
	{{"evil.test:8000", NULL, NULL}, 421, 421},
	{{"127.0.0.1.evil.test", NULL, NULL}, 421, 421},
	{{"localhost.evil.test", NULL, NULL}, 421, 421},
	{{"evillocal.test", NULL, NULL}, 421, 421},
	{{"evil.notlocal", NULL, NULL}, 421, 421},
	{{"evil.test.", NULL, NULL}, 421, 421},
	{{".local", NULL, NULL}, 421, 421},
	{{"2", NULL, NULL}, 421, 421},

	/* Pages. */
	{{"localhost:8000", "http://localhost:8000", "same-origin"}, 0, 0},
	{{"LOCALHOST:8000", "http://localhost:8000", NULL}, 0, 0},
	{{"localhost:8000", NULL, "none"}, 0, 0},
	{{"localhost:8000", "http://localhost:8001", NULL}, 403, 0},
	{{"localhost:8000", "http://localhost:80001", NULL}, 403, 0},
	{{"localhost:8000", "http://localhost", NULL}, 403, 0},
	{{"localhost:8000", "http://evil.test", NULL}, 403, 0},
	{{"localhost:8000", "http://localhost:8000.evil.test", NULL}, 403, 0},
	{{"localhost:8000", "null", NULL}, 403, 0},
	{{"localhost:8000", "", NULL}, 403, 0},
	{{"localhost:8000", "localhost:8000", NULL}, 403, 0},
	{{"localhost:8000", "2", NULL}, 403, 0},
	{{NULL, "http://localhost", NULL}, 403, 0},
	{{"", "http://", NULL}, 403, 0},
	/* Parts of pages have no Origin. */
	{{"localhost:8000", NULL, "same-site"}, 403, 0},
	{{"localhost:8000", NULL, "cross-site"}, 403, 0},
	{{"localhost:8000", NULL, ""}, 403, 0},
	{{"localhost:8000", NULL, "2"}, 403, 0},
	{{"localhost:8000", "http://localhost:8000", "cross-site"}, 403, 0},
};

static const char *shown(const char *s)
{
	return s ? s : "-";
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		now = rows[i].fields;
		is_int(origin_check(NULL, false), rows[i].status,
			"Host %s, Origin %s, %s", shown(now.host), shown(now.origin),
			shown(now.site));
		is_int(origin_check(NULL, true), rows[i].elsewhere, "...elsewhere");
	}
	return done_testing();
}
