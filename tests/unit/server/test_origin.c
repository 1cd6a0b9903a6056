/* Whose page asks: by the fields that browsers send and pages cannot choose. */
#include "server/origin.h"

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
	{{"[::1]", NULL, NULL}, 0, 0},
	{{"[2001:db8::1]", NULL, NULL}, 0, 0},
	{{"LocalHost", NULL, NULL}, 0, 0},
	{{"sandbox", NULL, NULL}, 0, 0},
	{{"Sandbox:80", NULL, NULL}, 0, 0},
	{{"", NULL, NULL}, 0, 0},

	/* Names of the network, which are not the sandbox's. */
	{{"other", NULL, NULL}, 421, 421},
	{{"sandbox.", NULL, NULL}, 421, 421},
	{{"sandbox2", NULL, NULL}, 421, 421},
	{{"sandbox.internal", NULL, NULL}, 421, 421},
	{{"box.ns.svc.cluster.local", NULL, NULL}, 421, 421},
	{{"host.docker.internal:1", NULL, NULL}, 421, 421},
	{{"x.internal", NULL, NULL}, 421, 421},
	{{"x.local", NULL, NULL}, 421, 421},
	{{"x.localhost", NULL, NULL}, 421, 421},

	/* Names that resemble an address. */
	{{"evil.test.1", NULL, NULL}, 421, 421},
	{{"evil1", NULL, NULL}, 421, 421},
	{{"1.2.3", NULL, NULL}, 421, 421},
	{{"1.2.3.4.5", NULL, NULL}, 421, 421},
	{{"1.2.3.256", NULL, NULL}, 421, 421},
	{{"2130706433", NULL, NULL}, 421, 421},
	{{"::1", NULL, NULL}, 421, 421},
	{{":80", NULL, NULL}, 421, 421},
	{{"[::1", NULL, NULL}, 421, 421},
	{{"[]", NULL, NULL}, 421, 421},
	{{"[evil.test]", NULL, NULL}, 421, 421},
	{{"[127.0.0.1]", NULL, NULL}, 421, 421},
	{{"[::1]evil.test", NULL, NULL}, 421, 421},

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

/* The names of a drop-in, and the verdicts where the program is none. */
static void check_drop_in(void)
{
	static const struct {
		const char *host;
		unsigned status;
	} hosts[] = {
		{"host.docker.internal:34512", 0},
		{"Host.Docker.Internal", 0},
		{"openhands-runtime-1-svc.ns.svc.cluster.LOCAL:8080", 0},
		{"localhost:34512", 0},
		{"172.17.0.2:34512", 0},
		{"sandbox", 0},
		{"other", 421},
		{"evil.host.docker.internal", 421},
		{"evilhost.docker.internal", 421},
		{".svc.cluster.local", 421},
		{"svc.cluster.local", 421},
		{"evil.svc.cluster.local.evil.test", 421},
		{"evil.test", 421},
	};
	const struct origin_names pod = {
		.own = STR("sandbox"), .drop_in = true, .pod = true};
	const struct origin_names machine = {.own = STR("sandbox"), .drop_in = true};

	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		now = (struct fields){.host = hosts[i].host};
		is_int(origin_check(NULL, &pod, false), hosts[i].status,
			"the drop-in: Host %s", hosts[i].host);
	}
	now = (struct fields){.host = "box.ns.svc.cluster.local"};
	is_int(origin_check(NULL, &machine, false), 421,
		"the drop-in outside of Kubernetes refuses the name of a Service");
	now = (struct fields){.host = "host.docker.internal"};
	is_int(origin_check(NULL, &machine, false), 0,
		"the drop-in outside of Kubernetes has the name of Docker Desktop");
}

int main(void)
{
	const struct origin_names names = {.own = STR("sandbox")};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		now = rows[i].fields;
		is_int(origin_check(NULL, &names, false), rows[i].status,
			"Host %s, Origin %s, %s", shown(now.host), shown(now.origin),
			shown(now.site));
		is_int(origin_check(NULL, &names, true), rows[i].elsewhere,
			"...elsewhere");
	}
	check_drop_in();
	return done_testing();
}
