/* Checks of the options of run that need no file: syntax and conflicts. */
#include "inject/sandbox/settings/settings.h"

#include "inject/console/out.h"

#include <stddef.h>

enum { ANNOTATION_MINOR = 43 }; /* version 1.43 of the API: Docker 24 */

static int settings_check_lists(const struct options *o)
{
	struct spec_parse_ulimit limit;
	struct str name, rest;
	const char *value, *why;
	size_t it = 0;

	while ((value = options_next(o, LIST_ULIMIT, &it)))
		if (spec_parse_ulimit(str_c(value), &limit, &why))
			return out_fail_usage(
				"give for example --ulimit nofile=1024:2048",
				"--ulimit %s: %s", value, why);
	for (it = 0; (value = options_next(o, LIST_LABEL, &it));) {
		if (spec_parse_pair(str_c(value), &name, &rest))
			return out_fail_usage("give for example --label team=a",
				"--label '%s' is not NAME=VALUE", value);
		if (str_starts(name, STR("od.")))
			return out_fail_usage(
				"choose a name that does not begin with od.",
				"--label %s: names that begin with od. are reserved for "
				"od-runtime",
				value);
	}
	for (it = 0; (value = options_next(o, LIST_ADD_HOST, &it));) {
		rest = str_c(value);
		name = str_cut(&rest, ':');
		if (!name.n || !rest.n)
			return out_fail_usage("give for example --add-host db:10.0.0.5",
				"--add-host '%s' is not NAME:ADDRESS", value);
	}
	return 0;
}

static bool settings_check_address(const char *value, const char **why)
{
	*why = "it is not an IPv4 or IPv6 address";
	return spec_is_address(value);
}

static bool settings_check_domain(const char *value, const char **why)
{
	*why = "it is not a domain name";
	return spec_is_search_domain(str_c(value));
}

static bool settings_check_sysctl(const char *value, const char **why)
{
	return spec_check_sysctl(str_c(value), why) == 0;
}

static bool settings_check_device(const char *value, const char **why)
{
	struct spec_parse_device device;

	return spec_parse_device(str_c(value), &device, why) == 0;
}

static bool settings_check_pair(const char *value, const char **why)
{
	struct str name, rest;

	*why = "it is not NAME=VALUE";
	return spec_parse_pair(str_c(value), &name, &rest) == 0;
}

static const struct {
	enum option_list list;
	const char *name, *next;
	bool (*check)(const char *value, const char **why);
} settings_forms[] = {
	{LIST_DNS, "dns", "give for example --dns 10.0.0.53", settings_check_address},
	{LIST_DNS_SEARCH, "dns-search", "give for example --dns-search example.org",
		settings_check_domain},
	{LIST_SYSCTL, "sysctl", "give for example --sysctl net.core.somaxconn=1024",
		settings_check_sysctl},
	{LIST_DEVICE, "device",
		"give for example --device /dev/fuse or --device /dev/sda:/dev/xvda:r",
		settings_check_device},
	{LIST_LOG_OPT, "log-opt", "give for example --log-opt max-size=10m",
		settings_check_pair},
	{LIST_ANNOTATION, "annotation", "give for example --annotation team=a",
		settings_check_pair},
};

static int settings_check_forms(const struct options *o)
{
	const char *value, *why;

	for (size_t i = 0; i < ARRAY_LEN(settings_forms); i++)
		for (size_t it = 0;
			(value = options_next(o, settings_forms[i].list, &it));)
			if (!settings_forms[i].check(value, &why))
				return out_fail_usage(settings_forms[i].next,
					"--%s %s: %s", settings_forms[i].name, value,
					why);
	return 0;
}

/* The modes of each option. A mode that ends in a colon is followed by a name. */
static const struct {
	const char *name;
	size_t at;
	const char *modes[6], *next;
} settings_modes[] = {
	{"ipc", offsetof(struct options, ipc),
		{"none", "private", "shareable", "host", "container:"},
		"give none, private, shareable, host or container:NAME"},
	{"pid", offsetof(struct options, pid), {"host", "container:"},
		"give host or container:NAME"},
	{"uts", offsetof(struct options, uts), {"host"},
		"give host, or leave the option out"},
	{"userns", offsetof(struct options, userns), {"host"},
		"give host, or leave the option out"},
	{"cgroupns", offsetof(struct options, cgroupns), {"host", "private"},
		"give host or private"},
};

static bool settings_is_mode(const char *const *modes, struct str value)
{
	for (; *modes; modes++) {
		struct str mode = str_c(*modes);

		if (str_ends(mode, STR(":")) ? str_starts(value, mode) && value.n > mode.n
					     : str_eq(value, mode))
			return true;
	}
	return false;
}

static int settings_check_modes(const struct options *o)
{
	for (size_t i = 0; i < ARRAY_LEN(settings_modes); i++) {
		const char *value =
			*(const char *const *)((const char *)o + settings_modes[i].at);

		if (value && !settings_is_mode(settings_modes[i].modes, str_c(value)))
			return out_fail_usage(settings_modes[i].next,
				"--%s '%s' is not a valid mode", settings_modes[i].name,
				value);
	}
	return 0;
}

static int settings_check_restart(const struct options *o)
{
	struct spec_parse_restart restart;
	const char *why;

	if (!o->restart)
		return 0;
	if (spec_parse_restart(str_c(o->restart), &restart, &why))
		return out_fail_usage(
			"give for example --restart always or --restart on-failure:3",
			"--restart %s: %s", o->restart, why);
	if (o->remove && !str_eq(restart.policy, STR("no")))
		return out_fail_usage("leave out one of the two",
			"--rm and --restart %s cannot be combined: one removes a sandbox "
			"that has ended, the other restarts it",
			o->restart);
	return 0;
}

static int settings_check_pairs(const struct options *o)
{
	size_t it = 0;

	if (o->hostname && o->uts)
		return out_fail_usage("leave --hostname out",
			"--hostname cannot be combined with --uts host, which uses the "
			"host's name");
	if (o->log_driver && strcmp(o->log_driver, "none") == 0 &&
		options_next(o, LIST_LOG_OPT, &it))
		return out_fail_usage("leave --log-opt out",
			"--log-opt cannot be combined with --log-driver none");
	if (o->memory_swap != UINT64_MAX && o->memory_swap && !o->memory)
		return out_fail_usage("add --memory",
			"--memory-swap limits memory and swap together, and needs "
			"--memory");
	if (o->memory_swap && o->memory_swap < o->memory)
		return out_fail_usage(
			"give --memory-swap the value of --memory for no swap",
			"--memory-swap is less than --memory");
	return 0;
}

static int settings_check_network(const struct settings *s)
{
	const struct options *o = s->options;

	if (!o->network)
		return 0;
	if (settings_is_isolated(s) && (s->ports_n || o->port || o->publish_all))
		return out_fail_usage(
			"leave --publish and --port out: requests go through the engine",
			"--publish and --port cannot be combined with --network %s, "
			"which publishes no port",
			o->network);
	if (settings_is_isolated(s) && o->tls)
		return out_fail_usage("leave --tls out: requests go through the engine",
			"--tls cannot be combined with --network %s, which publishes no "
			"port",
			o->network);
	if (!settings_is_host_network(s))
		return 0;
	if (s->ports_n || o->publish_all)
		return out_fail_usage("leave --publish out: the sandbox uses the ports "
				      "of the host directly",
			"--publish cannot be combined with --network host");
	if (o->hostname)
		return out_fail_usage("leave --hostname out",
			"--hostname cannot be combined with --network host, which uses "
			"the host's name");
	return 0;
}

int settings_check(const struct settings *s)
{
	static int (*const checks[])(const struct options *o) = {settings_check_lists,
		settings_check_forms, settings_check_modes, settings_check_restart,
		settings_check_pairs};

	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		int r = checks[i](s->options);

		if (r)
			return r;
	}
	return settings_check_network(s);
}

int settings_check_engine(const struct settings *s, unsigned minor, bool podman)
{
	size_t it = 0;

	if (podman || minor >= ANNOTATION_MINOR ||
		!options_next(s->options, LIST_ANNOTATION, &it))
		return 0;
	return out_fail_usage("leave --annotation out, or update the engine",
		"--annotation needs version 1.%d of the engine's API, but the engine has "
		"1.%u",
		ANNOTATION_MINOR, minor);
}
