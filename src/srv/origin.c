#include "srv/origin.h"

/* An address: digits and dots do not end in anything else, an IPv6 has brackets. */
static bool is_address(struct str host)
{
	return str_starts(host, STR("[")) ||
		(host.n && host.p[host.n - 1] >= '0' && host.p[host.n - 1] <= '9');
}

/* Nobody can have these in the public DNS: names of this network, or for it alone. */
static bool is_private(struct str name)
{
	static const char *const tops[] = {".localhost", ".local", ".internal"};

	if (str_find_byte(name, '.') == name.n)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(tops); i++) {
		struct str top = str_c(tops[i]);

		if (name.n > top.n && str_eq_nocase(str_skip(name, name.n - top.n), top))
			return true;
	}
	return false;
}

/* Of "name:port". */
static struct str name_of(struct str host)
{
	return str_starts(host, STR("[")) ? host
					  : str_make(host.p, str_find_byte(host, ':'));
}

/* A page that we have sent ourselves. */
static bool is_own(struct str origin, struct str host)
{
	struct str rest = str_skip(origin, str_find(origin, STR("://")));

	return rest.n > 3 && str_eq_nocase(str_skip(rest, 3), host);
}

/* What browsers say of an image or a link, which have no Origin: whose page it is in. */
static bool is_foreign_part(const struct request *rq)
{
	struct str site;
	int r = request_header(rq, STR("sec-fetch-site"), &site);

	return r < 0 ||
		(r == 0 && !str_eq(site, STR("same-origin")) &&
			!str_eq(site, STR("none")));
}

unsigned origin_check(const struct request *rq, bool elsewhere)
{
	struct str host = STR(""), origin, name;
	int r = request_header(rq, STR("host"), &host);

	name = name_of(host);
	if (r < 0 || (r == 0 && !is_address(name) && !is_private(name)))
		return 421;
	if (elsewhere)
		return 0;
	if (is_foreign_part(rq))
		return 403;
	r = request_header(rq, STR("origin"), &origin);
	return r > 0 || (r == 0 && is_own(origin, host)) ? 0 : 403;
}
