/* Parsers of values that docker run takes, too. */
#include "inject/options/spec.h"

#include "limits.h"

#include <arpa/inet.h>

enum { DOMAIN_MAX = 255 }; /* of RFC 1035 */

static int spec_refuse(const char **why, const char *words)
{
	*why = words;
	return ERR_SYNTAX;
}

static bool spec_is_device_rights(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!memchr("rwm", s.p[i], 3) || memchr(s.p, s.p[i], i))
			return false;
	return s.n > 0;
}

int spec_parse_device(struct str s, struct spec_parse_device *d, const char **why)
{
	struct spec_parse_device got = {.rights = STR("rwm")};
	struct str rest = s, second;

	got.outside = str_cut(&rest, ':');
	second = str_cut(&rest, ':');
	if (rest.n || spec_is_device_rights(second)) {
		got.rights = rest.n ? rest : second;
		got.inside = rest.n ? second : got.outside;
	} else {
		got.inside = second.n ? second : got.outside;
	}
	if (!got.outside.n || s.p[s.n - 1] == ':')
		return spec_refuse(why, "it is not PATH, PATH:PATH or PATH:PATH:RIGHTS");
	if (!spec_is_device_rights(got.rights))
		return spec_refuse(
			why, "the rights are not some of the letters r, w and m");
	if (got.inside.p[0] != '/')
		return spec_refuse(why, "the path in the sandbox does not begin with /");
	*d = got;
	return 0;
}

int spec_parse_restart(struct str s, struct spec_parse_restart *p, const char **why)
{
	static const char *const policies[] = {
		"no", "always", "unless-stopped", "on-failure"};
	struct spec_parse_restart got = {0};
	struct str count = s;
	bool known = false;

	got.policy = str_cut(&count, ':');
	for (size_t i = 0; i < ARRAY_LEN(policies) && !known; i++)
		known = str_eq(got.policy, str_c(policies[i]));
	if (!known)
		return spec_refuse(why,
			"the policy is not one of no, on-failure, always, "
			"unless-stopped");
	if (got.policy.n < s.n) {
		if (!str_eq(got.policy, STR("on-failure")))
			return spec_refuse(
				why, "only on-failure can have a number of retries");
		if (str_u64(count, INT32_MAX, &got.retries))
			return spec_refuse(why, "the number of retries is not a number");
	}
	*p = got;
	return 0;
}

int spec_check_sysctl(struct str s, const char **why)
{
	static const char *const names[] = {"kernel.msgmax", "kernel.msgmnb",
		"kernel.msgmni", "kernel.sem", "kernel.shmall", "kernel.shmmax",
		"kernel.shmmni", "kernel.shm_rmid_forced"};
	struct str value = s, name = str_cut(&value, '=');

	if (!name.n || name.n == s.n)
		return spec_refuse(why, "it is not NAME=VALUE");
	if (str_starts(name, STR("net.")) || str_starts(name, STR("fs.mqueue.")))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq(name, str_c(names[i])))
			return 0;
	return spec_refuse(why,
		"the parameter belongs to the whole machine; a sandbox can only set "
		"net.*, fs.mqueue.*, kernel.msg*, kernel.sem and kernel.shm*");
}

static bool spec_is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool spec_is_host_label(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!spec_is_alnum(s.p[i]) && (s.p[i] != '-' || i == 0 || i + 1 == s.n))
			return false;
	return s.n > 0;
}

bool spec_is_search_domain(struct str s)
{
	bool letter = false;

	if (str_eq(s, STR(".")))
		return true;
	if (s.n >= DOMAIN_MAX)
		return false;
	for (size_t i = 0; i < s.n && !letter; i++)
		letter = (s.p[i] | 0x20) >= 'a' && (s.p[i] | 0x20) <= 'z';
	while (s.n && letter)
		if (!spec_is_host_label(str_cut(&s, '.')))
			return false;
	return letter;
}

bool spec_is_address(const char *s)
{
	struct in6_addr a;

	return inet_pton(AF_INET, s, &a) == 1 || inet_pton(AF_INET6, s, &a) == 1;
}
