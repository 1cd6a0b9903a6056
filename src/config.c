#include "config.h"

#include "base/embed.h"
#include "base/float.h"
#include "browser/devtools/endpoint.h"
#include "drop_in.h"
#include "limits.h"
#include "plugin/manifest.h"
#include "plugin/table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PORT_MAX = 65535, UID_MAX_TEXT = 0x7fffffff };

struct reader {
	struct config *c;
	struct buf *errors;
	bool lenient; /* started in place of another program, whose options are skipped */
	bool has_port;
	char **argv; /* the words not read yet */
};

EMBED(usage_text, "src/usage.txt");

const char *config_usage(void)
{
	return embed_text(&usage_text).p;
}

static void config_add_error(
	struct reader *r, const char *option, const char *value, const char *why)
{
	buf_fmt(r->errors, "%s %s: %s\n", option, value, why);
}

static void config_read_number(struct reader *r, const char *option, const char *text,
	uint64_t max, uint32_t *out)
{
	uint64_t v;

	if (str_u64(str_c(text), max, &v) < 0)
		config_add_error(r, option, text, "must be a number in range");
	else
		*out = (uint32_t)v;
}

static void config_set_address(struct reader *r, const char *v)
{
	struct in6_addr a;

	if (inet_pton(AF_INET, v, &a) != 1 && inet_pton(AF_INET6, v, &a) != 1)
		config_add_error(
			r, "--address", v, "must be a numeric IPv4 or IPv6 address");
	r->c->address = v;
}

static void config_set_working_dir(struct reader *r, const char *v)
{
	if (v[0] != '/')
		config_add_error(r, "--working-dir", v, "must be an absolute path");
	else if (strlen(v) >= USER_PATH_MAX)
		config_add_error(r, "--working-dir", v, "is too long a path");
	r->c->working_dir = v;
}

static void config_require_working_dir(struct reader *r, const char *v)
{
	(void)v;
	r->c->working_dir_needed = true;
}

static void config_set_state_dir(struct reader *r, const char *v)
{
	if (v[0] != '/')
		config_add_error(r, "--state-dir", v, "must be an absolute path");
	r->c->state_dir = v;
}

static void config_set_state_sync(struct reader *r, const char *v)
{
	(void)v;
	r->c->state_sync = true;
}

static void config_set_username(struct reader *r, const char *v)
{
	if (!*v || strpbrk(v, ":/\n") || v[0] == '-')
		config_add_error(r, "--username", v, "is not a user name");
	r->c->username = v;
}

static void config_set_user_id(struct reader *r, const char *v)
{
	config_read_number(r, "--user-id", v, UID_MAX_TEXT, &r->c->uid);
}

static void config_set_manage(struct reader *r, const char *v)
{
	(void)v;
	r->c->manage_users = CONFIG_MANAGE_ON;
}

static void config_set_no_manage(struct reader *r, const char *v)
{
	(void)v;
	r->c->manage_users = CONFIG_MANAGE_OFF;
}

static void config_set_shell(struct reader *r, const char *v)
{
	if (v[0] != '/')
		config_add_error(r, "--shell", v, "must be an absolute path");
	r->c->shell = v;
}

static void config_set_key_sha256(struct reader *r, const char *v)
{
	if (hex_decode(str_c(v), r->c->key, sizeof(r->c->key)) < 0)
		config_add_error(r, "--key-sha256", v, "must be 64 hexadecimal digits");
	r->c->has_key = true;
}

static void config_set_no_key(struct reader *r, const char *v)
{
	(void)v;
	r->c->no_key = true;
}

static void config_set_tls_self(struct reader *r, const char *v)
{
	(void)v;
	r->c->tls_self = true;
}

static void config_set_connect_id(struct reader *r, const char *v)
{
	static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789._-";

	if (!*v || v[0] == '.' || strspn(v, legal) != strlen(v) ||
		strlen(v) > CONNECT_ID_MAX)
		config_add_error(r, "--connect-id", v,
			"must be letters, digits, \".\", \"_\" and \"-\"");
	r->c->connect_id = v;
}

static void config_set_connect_pin(struct reader *r, const char *v)
{
	if (hex_decode(str_c(v), r->c->connect_pin, sizeof(r->c->connect_pin)) < 0)
		config_add_error(r, "--connect-pin", v, "must be 64 hexadecimal digits");
	r->c->has_pin = true;
}

static void config_set_tls(struct reader *r, const char *v)
{
	(void)v;
	if (r->c->role != ROLE_HEALTH)
		buf_puts(r->errors,
			"--tls is only for the role health; the server needs --tls-cert "
			"or --tls-self\n");
	r->c->tls = true;
}

static void config_set_browser(struct reader *r, const char *v)
{
	(void)v;
	r->c->browser = CONFIG_BROWSER_ON;
}

static void config_set_no_browser(struct reader *r, const char *v)
{
	(void)v;
	r->c->browser = CONFIG_BROWSER_OFF;
}

static void config_set_eval_env(struct reader *r, const char *v)
{
	if (*v)
		r->c->eval_env = v;
}

static void config_set_viewer(struct reader *r, const char *v)
{
	(void)v;
	r->c->viewer = true;
}

/* A name that is no built-in plugin may be a folder, see config_check_plugins. */
static void config_add_plugin(struct reader *r, const char *v)
{
	struct config *c = r->c;

	for (size_t i = 0; i < plugins_n; i++) {
		if (strcmp(v, plugins[i]->name) != 0)
			continue;
		c->plugins |= UINT32_C(1) << i;
		return;
	}
	for (size_t i = 0; i < c->disk_plugins_n; i++)
		if (!strcmp(v, c->disk_plugins[i]))
			return;
	if (c->disk_plugins_n == PLUGINS_DISK_MAX)
		config_add_error(
			r, "--plugins", v, "exceeds the maximum number of these options");
	else
		c->disk_plugins[c->disk_plugins_n++] = v;
}

static void config_set_plugin_dir(struct reader *r, const char *v)
{
	if (v[0] != '/')
		config_add_error(r, "--plugin-dir", v, "must be an absolute path");
	else if (strlen(v) >= USER_PATH_MAX)
		config_add_error(r, "--plugin-dir", v, "is too long a path");
	r->c->plugin_dir = v;
}

static bool config_is_folder(const char *dir, const char *name)
{
	char path[USER_PATH_MAX + PLUGIN_NAME_MAX + 2];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* An unknown plugin is an error at the start: an agent would notice it much later. */
static void config_check_plugins(struct reader *r)
{
	const struct config *c = r->c;

	for (size_t i = 0; i < c->disk_plugins_n; i++) {
		const char *name = c->disk_plugins[i];

		if (manifest_is_name(str_c(name)) &&
			config_is_folder(c->plugin_dir, name))
			continue;
		buf_fmt(r->errors, "--plugins %s: is not one of", name);
		for (size_t k = 0; k < plugins_n; k++)
			buf_fmt(r->errors, "%s %s", k ? "," : "", plugins[k]->name);
		buf_fmt(r->errors, ", and no folder in %s\n", c->plugin_dir);
	}
}

/* The browser plugin is on by default and starts when needed; if requested, at once. */
static void config_check_browser(struct reader *r)
{
	struct config *c = r->c;
	uint32_t bit = 1;

	for (size_t i = 0; plugins[i] != &plugin_browser; i++)
		bit <<= 1;
	if (c->eval_env && c->browser == CONFIG_BROWSER_OFF)
		buf_puts(r->errors,
			"Browser environment is not enabled in config, but "
			"browsergym_eval_env is set\n");
	if (c->cdp && !endpoint_is_valid(c->cdp))
		config_add_error(r, "--cdp", c->cdp,
			"must be ws://HOST:PORT/PATH or http://HOST:PORT");
	if (c->plugins & bit)
		c->browser = CONFIG_BROWSER_ON;
	if (c->browser == CONFIG_BROWSER_OFF)
		return;
	c->plugins |= bit;
	/* A backend that started the drop-in expects a viewer with each browser. */
	c->viewer |= c->drop_in;
}

/* Parses seconds with an optional fraction. */
static void config_set_plugin_time(struct reader *r, const char *text)
{
	double s = 0;

	if (!*text || strspn(text, "0123456789.") != strlen(text) || *text == '.' ||
		float_read(text, &s) < 0 || s * 1000 > TIMEOUT_MAX)
		config_add_error(
			r, "INIT_PLUGIN_TIMEOUT", text, "must be a number of seconds");
	else
		r->c->plugin_ms = (uint64_t)(s * 1000);
}

static void config_set_entrypoint(struct reader *r, const char *v)
{
	static const char *const words[] = {
		[CONFIG_ENTRYPOINT_NONE] = "none",
		[CONFIG_ENTRYPOINT_RUN] = "run",
		[CONFIG_ENTRYPOINT_WAIT] = "wait",
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(v, words[i]) != 0)
			continue;
		r->c->entrypoint = (enum config_entrypoint)i;
		return;
	}
	config_add_error(r, "--entrypoint", v, "is not none, run or wait");
}

enum arity { NONE, ONE, MANY };

#define AT(member) offsetof(struct config, member)

static const struct option {
	const char *name;
	enum arity arity;
	void (*set)(struct reader *r, const char *value);
	/* without set: the offset in struct config that the value is stored at */
	size_t at;
} options[] = {
	{"--address", ONE, .set = config_set_address},
	{"--working-dir", ONE, .set = config_set_working_dir},
	{"--working-dir-needed", NONE, .set = config_require_working_dir},
	{"--state-dir", ONE, .set = config_set_state_dir},
	{"--state-sync", NONE, .set = config_set_state_sync},
	{"--username", ONE, .set = config_set_username},
	{"--user-id", ONE, .set = config_set_user_id},
	{"--manage-users", NONE, .set = config_set_manage},
	{"--no-manage-users", NONE, .set = config_set_no_manage},
	{"--shell", ONE, .set = config_set_shell},
	{"--key-sha256", ONE, .set = config_set_key_sha256},
	{"--no-key", NONE, .set = config_set_no_key},
	{"--tls-cert", ONE, .at = AT(tls_cert)},
	{"--tls-key", ONE, .at = AT(tls_key)},
	{"--tls-client-ca", ONE, .at = AT(tls_client_ca)},
	{"--tls-self", NONE, .set = config_set_tls_self},
	{"--tls", NONE, .set = config_set_tls},
	{"--connect", ONE, .at = AT(connect)},
	{"--connect-id", ONE, .set = config_set_connect_id},
	{"--connect-token", ONE, .at = AT(connect_token)},
	{"--connect-ca", ONE, .at = AT(connect_ca)},
	{"--connect-cert", ONE, .at = AT(connect_cert)},
	{"--connect-key", ONE, .at = AT(connect_key)},
	{"--connect-pin", ONE, .set = config_set_connect_pin},
	{"--plugins", MANY, .set = config_add_plugin},
	{"--plugin-dir", ONE, .set = config_set_plugin_dir},
	{"--entrypoint", ONE, .set = config_set_entrypoint},
	{"--enable-browser", NONE, .set = config_set_browser},
	{"--no-enable-browser", NONE, .set = config_set_no_browser},
	{"--cdp", ONE, .at = AT(cdp)},
	{"--file-viewer", NONE, .set = config_set_viewer},
	{"--browsergym-eval-env", MANY, .set = config_set_eval_env},
	{"--git-user-name", ONE, .at = AT(git_name)},
	{"--git-user-email", ONE, .at = AT(git_email)},
};

static void config_set_option(struct reader *r, const struct option *o, const char *value)
{
	if (o->set)
		o->set(r, value);
	else
		memcpy((char *)r->c + o->at, &value, sizeof(value));
}

static bool config_is_number(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word);
}

static bool config_is_option(const char *word)
{
	return word && word[0] == '-' && word[1] == '-';
}

static void config_read_option(
	struct reader *r, const struct option *o, const char *value)
{
	if (o->arity == NONE) {
		if (value)
			config_add_error(r, o->name, value, "takes no value");
		config_set_option(r, o, NULL);
	} else if (value) {
		config_set_option(r, o, value);
	} else if (!*r->argv || config_is_option(*r->argv)) {
		buf_fmt(r->errors, "%s: needs a value\n", o->name);
	} else {
		config_set_option(r, o, *r->argv++);
	}
	while (o->arity == MANY && *r->argv && !config_is_option(*r->argv))
		config_set_option(r, o, *r->argv++);
}

static void config_reject_option(struct reader *r, const char *word)
{
	if (!r->lenient)
		buf_fmt(r->errors, "%s: unknown option (see --help)\n", word);
	/*
	 * Skips the value of the option too, unless it is a number and the port is
	 * missing.
	 */
	if (*r->argv && !config_is_option(*r->argv) &&
		(r->has_port || !config_is_number(*r->argv)))
		r->argv++;
}

static void config_read_argument(struct reader *r, char *word)
{
	const char *equals = strchr(word, '=');
	struct str name = equals ? str_make(word, (size_t)(equals - word)) : str_c(word);
	uint64_t port = 0;

	if (config_is_option(word)) {
		for (size_t i = 0; i < ARRAY_LEN(options); i++) {
			if (!str_eq(name, str_c(options[i].name)))
				continue;
			config_read_option(r, &options[i], equals ? equals + 1 : NULL);
			return;
		}
		config_reject_option(r, word);
	} else if (config_is_number(word) && !r->has_port) {
		if (str_u64(str_c(word), PORT_MAX, &port) < 0 || port == 0)
			config_add_error(r, "port", word, "must be from 1 to 65535");
		r->c->port = (uint16_t)port;
		r->has_port = true;
	} else if (!r->lenient) {
		buf_fmt(r->errors, "%s: unexpected argument (see --help)\n", word);
	}
}

static const struct role_word {
	const char *word;
	enum config_role role;
} roles[] = {
	{"init", ROLE_INIT},
	{"serve", ROLE_SERVE},
	{"shell", ROLE_SHELL},
	{"connect", ROLE_CONNECT},
	{"health", ROLE_HEALTH},
	{"copy-self", ROLE_COPY_SELF},
	{"--version", ROLE_VERSION},
	{"--licences", ROLE_LICENCES},
	{"--help", ROLE_HELP},
	{"help", ROLE_HELP},
};

static bool config_read_role(struct reader *r)
{
	for (size_t i = 0; *r->argv && i < ARRAY_LEN(roles); i++) {
		if (strcmp(*r->argv, roles[i].word) != 0)
			continue;
		r->c->role = roles[i].role;
		r->argv++;
		return true;
	}
	return false;
}

static bool config_is_true(const char *text)
{
	static const char *const words[] = {"1", "true", "t", "yes", "y", "on"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_eq_nocase(str_c(text), str_c(words[i])))
			return true;
	return false;
}

static void config_read_environment(struct reader *r)
{
	struct config *c = r->c;
	const char *no_change = getenv("NO_CHANGE_TIMEOUT_SECONDS");
	const char *group = getenv("SANDBOX_GROUP_ID");
	const char *extra = getenv("RUNTIME_USERNAME");
	const char *plugin_time = getenv("INIT_PLUGIN_TIMEOUT");

	config_take_key(c);
	if (no_change)
		config_read_number(r, "NO_CHANGE_TIMEOUT_SECONDS", no_change,
			NO_CHANGE_MAX_S, &c->no_change_s);
	if (plugin_time)
		config_set_plugin_time(r, plugin_time);
	if (group && strcmp(group, "root") != 0)
		config_read_number(
			r, "SANDBOX_GROUP_ID", group, UID_MAX_TEXT, &c->work_gid);
	c->as_user = (!getenv("SU_TO_USER") || config_is_true(getenv("SU_TO_USER"))) &&
		(!r->lenient || !strcmp(c->username, "root") ||
			!strcmp(c->username, "openhands") ||
			(extra && !strcmp(c->username, extra)));
}

int config_read(struct config *c, int argc, char **argv, struct buf *errors)
{
	struct reader r = {.c = c, .errors = errors, .argv = argv + (argc > 0)};

	*c = (struct config){
		.role = ROLE_SERVE,
		.address = "0.0.0.0",
		.username = "openhands",
		.uid = 1000,
		.no_change_s = NO_CHANGE_DEFAULT_S,
		.plugin_dir = "/.od/plugins",
		.plugin_ms = PLUGIN_TIMEOUT_S * 1000,
		.is_first = getpid() == 1,
		/* The kubelet sets this variable in each container. */
		.is_pod = getenv("KUBERNETES_SERVICE_HOST") != NULL,
	};
	if (argc > 0 && drop_in_is_name(argv[0])) {
		r.lenient = c->drop_in = true;
		c->git_name = "openhands";
		c->git_email = "openhands@all-hands.dev";
		if (drop_in_is_path(argv[0]))
			c->manage_users = CONFIG_MANAGE_ON;
		r.argv = drop_in_skip_launcher(r.argv);
		c->role = ROLE_INIT;
	} else if (!config_read_role(&r)) {
		c->role = c->is_first ? ROLE_INIT : ROLE_SERVE;
	}
	if (c->role == ROLE_COPY_SELF) {
		c->copy_target = *r.argv;
		if (!c->copy_target || r.argv[1])
			buf_puts(r.errors, "copy-self: needs one destination\n");
		return r.errors->n ? -EINVAL : 0;
	}
	if (c->role > ROLE_HEALTH)
		return 0;
	while (*r.argv) {
		char *word = *r.argv++;

		if (!r.lenient && !strcmp(word, "--")) {
			c->entrypoint_words = (const char *const *)r.argv;
			break;
		}
		config_read_argument(&r, word);
	}
	if (!r.has_port)
		buf_puts(r.errors,
			"no port: the first number is the TCP port to listen on\n");
	config_check_plugins(&r);
	if (c->entrypoint != CONFIG_ENTRYPOINT_NONE &&
		(!c->entrypoint_words || !*c->entrypoint_words))
		buf_puts(r.errors,
			"--entrypoint: the program is missing; give it after --\n");
	if (c->entrypoint == CONFIG_ENTRYPOINT_NONE && c->entrypoint_words)
		buf_puts(r.errors, "--: a program is given without --entrypoint\n");
	config_check_browser(&r);
	if (!c->tls_cert != !c->tls_key)
		buf_puts(r.errors, "--tls-cert and --tls-key need each other\n");
	if (c->tls_cert && c->tls_self)
		buf_puts(r.errors, "--tls-self and --tls-cert cannot be combined\n");
	if (c->tls_client_ca && !c->tls_cert && !c->tls_self)
		buf_puts(r.errors, "--tls-client-ca needs --tls-cert or --tls-self\n");
	if (!c->connect_cert != !c->connect_key)
		buf_puts(r.errors, "--connect-cert and --connect-key need each other\n");
	if (c->connect && !strncmp(c->connect, "wss:", 4) && !c->connect_ca &&
		!c->has_pin)
		buf_puts(r.errors,
			"--connect wss://... needs --connect-ca or --connect-pin\n");
	config_read_environment(&r);
	/* Backends start the drop-in without a key. */
	if (!r.lenient && !r.errors->n && c->role <= ROLE_INIT)
		config_check_key(c, r.errors);
	return r.errors->n ? -EINVAL : 0;
}
