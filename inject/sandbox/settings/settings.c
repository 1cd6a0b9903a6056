#include "inject/sandbox/settings/settings.h"

#include "base/fd.h"
#include "inject/console/out.h"
#include "inject/sandbox/sandbox.h"
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NEXT_HELP "od-runtime help run"

bool settings_is_isolated(const struct settings *s)
{
	const char *network = s->options->network;

	return network &&
		(strcmp(network, "none") == 0 || strncmp(network, "container:", 10) == 0);
}

bool settings_is_host_network(const struct settings *s)
{
	return s->options->network && strcmp(s->options->network, "host") == 0;
}

/* Reads a text file; the text lives as long as s. */
static int settings_read_file(
	struct settings *s, const char *option, const char *path, struct str *out)
{
	struct buf text = BUF_INIT(INJECT_FILE_MAX);
	int fd = fd_open(path, O_RDONLY, 0);
	int r = fd < 0 ? fd : 0;
	ssize_t got = 1;

	while (!r && got > 0) {
		char *room = buf_reserve(&text, 4096);

		if (!room) {
			r = text.err;
			break;
		}
		got = read(fd, room, 4096);
		if (got > 0)
			buf_commit(&text, (size_t)got);
		else if (got < 0)
			r = -errno;
	}
	fd_close(&fd);
	if (!r) {
		char *kept = arena_alloc(&s->arena, text.n + 1);

		r = kept ? 0 : -ENOMEM;
		if (kept && text.n)
			memcpy(kept, text.p, text.n);
		*out = str_make(kept, text.n);
	}
	buf_free(&text);
	if (r && r != -ENOMEM)
		return out_fail_usage("the file must be text and have at most 1 MiB",
			"--%s: %s: %s", option, path, err_text(r));
	return r;
}

/*
 * "NAME" without a value gets the value of our own environment; 1: it is not set there.
 */
static int settings_resolve_env(struct settings *s, struct str *entry)
{
	char name[256];
	const char *value;
	char *both;
	size_t n;

	if (str_find_byte(*entry, '=') < entry->n || entry->n >= sizeof(name))
		return 0;
	memcpy(name, entry->p, entry->n);
	name[entry->n] = '\0';
	value = getenv(name);
	if (!value)
		return 1;
	n = entry->n + 1 + strlen(value);
	both = arena_alloc(&s->arena, n + 1);
	if (!both)
		return -ENOMEM;
	snprintf(both, n + 1, "%s=%s", name, value);
	*entry = str_make(both, n);
	return 0;
}

static int settings_add_env(struct settings *s, const char *option, struct str entry)
{
	struct str name, value;
	int r;

	if (spec_parse_pair(entry, &name, &value) || memchr(entry.p, '\0', entry.n))
		return out_fail_usage("give for example -e LANG=C.UTF-8 or -e LANG",
			"--%s: '%.*s' has no name, or its name contains a blank", option,
			STR_ARG(entry));
	/* The server would take the variable for its key and refuse ours. */
	if (str_eq(name, STR("SESSION_API_KEY")))
		return out_fail_usage("leave it out: od-runtime generates the key",
			"--%s: SESSION_API_KEY is reserved for the server of the sandbox",
			option);
	r = settings_resolve_env(s, &entry);
	if (r == 0)
		s->env[s->env_n++] = entry;
	return r < 0 ? r : 0;
}

static int settings_add_env_file(struct settings *s, struct str text)
{
	int r = 0;

	while (text.n && !r) {
		struct str line = str_trim(str_cut(&text, '\n'), "\r");

		/* Blanks at the end may belong to a value. */
		while (line.n && (*line.p == ' ' || *line.p == '\t'))
			line = str_skip(line, 1);
		if (line.n && *line.p != '#')
			r = settings_add_env(s, "env-file", line);
	}
	return r;
}

/* The last value counts: options override files, as in docker run. */
static int settings_read_env(struct settings *s)
{
	const struct env_options *o = &s->options->env;
	struct str texts[OPTION_LIST_MAX] = {{0}};
	size_t texts_n = 0, room = o->env.n;
	const struct option_value *v;
	int r = 0;

	for (v = o->env_file.first; v && !r; v = v->next) {
		r = settings_read_file(s, "env-file", v->text, &texts[texts_n]);
		if (!r)
			room += str_count(texts[texts_n++], '\n') + 1;
	}
	s->env = arena_array(&s->arena, room + 1, sizeof(*s->env));
	if (!r && !s->env)
		r = -ENOMEM;
	for (size_t i = 0; i < texts_n && !r; i++)
		r = settings_add_env_file(s, texts[i]);
	for (v = o->env.first; v && !r; v = v->next)
		r = settings_add_env(s, "env", str_c(v->text));
	return r;
}

static int settings_add_ports(
	struct settings *s, const struct spec_parse_ports *p, const char *text)
{
	if (s->ports_n + p->n > PUBLISH_MAX)
		return out_fail_usage(NEXT_HELP,
			"--publish %s: more than %d ports are published", text,
			PUBLISH_MAX);
	for (unsigned i = 0; i < p->n; i++) {
		struct spec_parse_ports *one = &s->ports[s->ports_n++];

		*one = *p;
		one->inside = (uint16_t)(p->inside + i);
		one->n = 1;
		if (one->inside == SANDBOX_PORT && strcmp(p->protocol, "tcp") == 0)
			return out_fail_usage("use --port to publish the server",
				"--publish %s: port %d of the sandbox is used by its "
				"server",
				text, SANDBOX_PORT);
		if (p->n == 1)
			continue;
		one->outside = (uint16_t)(p->outside ? p->outside + i : 0);
		one->outside_n = 1;
	}
	return 0;
}

static int settings_read_ports(struct settings *s)
{
	const char *why;
	int r = 0;

	s->ports = arena_array(&s->arena, PUBLISH_MAX, sizeof(*s->ports));
	if (!s->ports)
		return -ENOMEM;
	for (const struct option_value *v = s->options->publish.first; v && !r;
		v = v->next) {
		struct spec_parse_ports p;

		if (spec_parse_ports(str_c(v->text), &p, &why))
			return out_fail_usage(
				"give for example -p 8080:80, -p 53:53/udp, -p "
				"0.0.0.0:8080:80, -p 9000-9009",
				"--publish %s: %s", v->text, why);
		r = settings_add_ports(s, &p, v->text);
	}
	return r;
}

/* The engine does not have our working directory. */
static int settings_make_absolute(struct settings *s, struct str *path)
{
	char here[4096];
	size_t room = sizeof(here) + path->n + 2;
	char *out;

	if (!path->n || path->p[0] == '/')
		return 0;
	if (!getcwd(here, sizeof(here)))
		return out_fail("change to another folder, or give absolute paths",
			"the current folder cannot be determined: %s", err_text(-errno));
	out = arena_alloc(&s->arena, room);
	if (!out)
		return -ENOMEM;
	if (str_eq(*path, STR(".")))
		snprintf(out, room, "%s", here);
	else
		snprintf(out, room, "%s/%.*s", here, STR_ARG(*path));
	*path = str_c(out);
	return 0;
}

static bool settings_is_reserved_path(struct str target)
{
	return str_eq(target, STR("/.od")) || str_starts(target, STR("/.od/"));
}

static int settings_add_mount(
	struct settings *s, const char *option, const char *value, int r, const char *why)
{
	struct spec_parse_mount *m = &s->mounts[s->mounts_n];

	if (r)
		return out_fail_usage("od-runtime help run shows the format",
			"--%s %s: %s", option, value, why);
	if (settings_is_reserved_path(m->target))
		return out_fail_usage("choose another path",
			"--%s %s: /.od is reserved for the server of the sandbox", option,
			value);
	for (size_t i = 0; i < s->mounts_n; i++)
		if (str_eq(s->mounts[i].target, m->target))
			return out_fail_usage("choose another path",
				"--%s %s: another mount has the same path in the sandbox",
				option, value);
	/* Options of mount(8) are separated by commas, and folders by colons. */
	if (m->type == SPEC_OVERLAY &&
		(str_find_byte(m->source, ',') < m->source.n ||
			str_find_byte(m->source, ':') < m->source.n))
		return out_fail_usage("rename it",
			"--%s %s: the source of an overlay must not contain "
			"a comma or a colon",
			option, value);
	if (m->type == SPEC_OVERLAY && s->options->remove && !s->has_command)
		return out_fail_usage("leave --rm out, and remove the sandbox later with "
				      "od-runtime rm",
			"--%s %s: an overlay needs a CMD if --rm is given, "
			"because its changes would not be removed otherwise",
			option, value);
	s->mounts_n++;
	return m->source.n && m->source.p[0] == '.'
		? settings_make_absolute(s, &m->source)
		: 0;
}

static int settings_read_mounts(struct settings *s)
{
	const struct sandbox_options *o = s->options;
	const struct option_value *v;
	const char *why = NULL;
	int r = 0;

	s->mounts =
		arena_array(&s->arena, o->volume.n + o->mount.n + 1, sizeof(*s->mounts));
	if (!s->mounts)
		return -ENOMEM;
	for (v = o->volume.first; v && !r; v = v->next) {
		r = spec_parse_volume(str_c(v->text), &s->mounts[s->mounts_n], &why);
		r = settings_add_mount(s, "volume", v->text, r, why);
	}
	for (v = o->mount.first; v && !r; v = v->next) {
		r = spec_parse_mount(str_c(v->text), &s->mounts[s->mounts_n], &why);
		r = settings_add_mount(s, "mount", v->text, r, why);
	}
	for (v = o->tmpfs.first; v && !r; v = v->next)
		if (v->text[0] != '/')
			return out_fail_usage(
				"give for example --tmpfs /run:size=64m,mode=1777",
				"--tmpfs %s: the path does not begin with /", v->text);
	return r;
}

#define SECCOMP "seccomp="

static int settings_make_seccomp(struct settings *s, struct str value, struct str *out)
{
	struct buf text = BUF_INIT(INJECT_FILE_MAX + sizeof(SECCOMP));

	buf_puts(&text, SECCOMP);
	buf_str(&text, value);
	if (!text.err)
		*out = str_c(arena_cstr(&s->arena, buf_view(&text)));
	buf_free(&text);
	return text.err ? text.err : out->p ? 0 : -ENOMEM;
}

static int settings_read_security(struct settings *s)
{
	const struct option_values *list = &s->options->security_opt;
	int r;

	s->security = arena_array(&s->arena, list->n + 1, sizeof(*s->security));
	if (!s->security)
		return -ENOMEM;
	for (const struct option_value *v = list->first; v; v = v->next) {
		struct settings_security *out = &s->security[s->security_n++];
		struct str path = str_c(v->text), text = {0};

		*out = (struct settings_security){path, path};
		if (!str_starts(path, STR(SECCOMP)))
			continue;
		path = str_skip(path, strlen(SECCOMP));
		if (str_eq(path, STR("unconfined")) || str_eq(path, STR("builtin")))
			continue;
		r = settings_read_file(s, "security-opt", path.p, &text);
		if (r)
			return r;
		r = settings_make_absolute(s, &path);
		if (r)
			return r;
		r = settings_make_seccomp(s, path, &out->named);
		if (r)
			return r;
		r = settings_make_seccomp(s, text, &out->whole);
		if (r)
			return r;
	}
	return 0;
}

int settings_read(struct settings *s, const struct sandbox_options *o, bool has_command)
{
	const char *platform = o->image.platform, *working_dir = o->identity.working_dir;
	struct str arch;
	const char *why;
	int r;

	*s = (struct settings){.options = o, .has_command = has_command};
	arena_init(&s->arena, INJECT_ARENA_MAX);
	if (platform && spec_parse_platform(str_c(platform), &arch, &why))
		return out_fail_usage(NEXT_HELP, "--platform %s: %s", platform, why);
	if (o->gpus && spec_parse_gpus(str_c(o->gpus), &s->gpus, &why))
		return out_fail_usage(NEXT_HELP, "--gpus %s: %s", o->gpus, why);
	if (working_dir && working_dir[0] != '/')
		return out_fail_usage("give an absolute path",
			"--working-dir %s does not begin with /", working_dir);
	if (o->state_dir && o->state_dir[0] != '/')
		return out_fail_usage("give an absolute path",
			"--state-dir %s does not begin with /", o->state_dir);
	r = settings_read_ports(s);
	if (r)
		return r;
	r = settings_check(s);
	if (r)
		return r;
	r = settings_read_mounts(s);
	if (r)
		return r;
	r = settings_read_security(s);
	return r ? r : settings_read_env(s);
}

void settings_free(struct settings *s)
{
	arena_reset(&s->arena);
	*s = (struct settings){0};
}
