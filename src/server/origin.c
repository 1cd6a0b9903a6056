#include "server/origin.h"

#include <arpa/inet.h>
#include <string.h>

/* Whether name is "10.0.0.7" or an IPv6 address in brackets. */
static bool origin_is_address(struct str name)
{
	unsigned char address[sizeof(struct in6_addr)];
	char text[INET6_ADDRSTRLEN];
	bool six = str_starts(name, STR("[")) && str_ends(name, STR("]"));

	if (six)
		name = str_make(name.p + 1, name.n - 2);
	if (name.n >= sizeof(text) || memchr(name.p, '\0', name.n))
		return false;
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	return inet_pton(six ? AF_INET6 : AF_INET, text, address) == 1;
}

/*
 * The names by which unmodified backends reach a sandbox without a key: their app image
 * uses host.docker.internal, their Kubernetes runtime the DNS name of a Service. Neither
 * .internal nor .local is delegated in the public DNS. Outside of a cluster, another
 * machine of the local network can own a name below .local by multicast DNS.
 */
static bool origin_is_backend_name(const struct origin_names *names, struct str name)
{
	const struct str service = STR(".svc.cluster.local");

	return str_eq_nocase(name, STR("host.docker.internal")) ||
		(names->pod && name.n > service.n &&
			str_eq_nocase(str_skip(name, name.n - service.n), service));
}

static bool origin_is_known(const struct origin_names *names, struct str name)
{
	return origin_is_address(name) || str_eq_nocase(name, STR("localhost")) ||
		(name.n && str_eq_nocase(name, names->own)) ||
		(names->drop_in && origin_is_backend_name(names, name));
}

/* Returns the name in "name:port". */
static struct str origin_get_name(struct str host)
{
	size_t n = str_starts(host, STR("[")) ? str_find_byte(host, ']') : 0;

	return str_make(host.p, n + str_find_byte(str_skip(host, n), ':'));
}

/* Whether the origin is this server, by the name in Host. */
static bool origin_is_same(struct str origin, struct str host)
{
	struct str rest = str_skip(origin, str_find(origin, STR("://")));

	return rest.n > 3 && str_eq_nocase(str_skip(rest, 3), host);
}

/* Images and links have no Origin. Sec-Fetch-Site reports where their page is from. */
static bool origin_is_cross_site(const struct request *rq)
{
	struct str site;
	int r = request_header(rq, STR("sec-fetch-site"), &site);

	return r < 0 ||
		(r == 0 && !str_eq(site, STR("same-origin")) &&
			!str_eq(site, STR("none")));
}

unsigned origin_check(
	const struct request *rq, const struct origin_names *names, bool elsewhere)
{
	struct str host = STR(""), origin;
	int r = request_header(rq, STR("host"), &host);

	if (r < 0 || (host.n && !origin_is_known(names, origin_get_name(host))))
		return 421;
	if (elsewhere)
		return 0;
	if (origin_is_cross_site(rq))
		return 403;
	r = request_header(rq, STR("origin"), &origin);
	return r > 0 || (r == 0 && origin_is_same(origin, host)) ? 0 : 403;
}
