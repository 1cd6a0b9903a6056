/* Writes the settings of a container in the form of the engine's API. */
#include "inject/sandbox/settings/settings.h"

#include <stdio.h>

static void settings_write_text(struct jw *w, const char *key, const char *value)
{
	if (!value)
		return;
	jw_key(w, key);
	jw_cstr(w, value);
}

static void settings_write_number(struct jw *w, const char *key, uint64_t value)
{
	if (!value)
		return;
	jw_key(w, key);
	/* UINT64_MAX becomes -1, which means no limit. */
	jw_int(w, (int64_t)value);
}

static void settings_write_flag(struct jw *w, const char *key, bool value)
{
	if (!value)
		return;
	jw_key(w, key);
	jw_bool(w, true);
}

static void settings_write_list(
	struct jw *w, const char *key, const struct option_values *list)
{
	if (!list->n)
		return;
	jw_key(w, key);
	jw_array(w);
	for (const struct option_value *v = list->first; v; v = v->next)
		jw_cstr(w, v->text);
	jw_end(w);
}

static void settings_write_strings(
	struct jw *w, const char *key, const struct str *values, size_t n)
{
	if (!n)
		return;
	jw_key(w, key);
	jw_array(w);
	for (size_t i = 0; i < n; i++)
		jw_str(w, values[i]);
	jw_end(w);
}

void settings_write(const struct settings *s, struct jw *w)
{
	const struct sandbox_options *o = s->options;

	settings_write_text(w, "User", o->identity.user);
	settings_write_text(w, "Hostname", o->hostname);
	settings_write_text(w, "WorkingDir", o->identity.working_dir);
	settings_write_text(w, "StopSignal", o->stop_signal ? o->stop_signal : "SIGTERM");
	if (o->has_stop_timeout) {
		jw_key(w, "StopTimeout");
		jw_int(w, (int64_t)o->stop_timeout);
	}
	settings_write_strings(w, "Env", s->env, s->env_n);
}

/* Whether the name occurs again from v on: the last entry counts. */
static bool settings_is_repeated(const struct option_value *v, struct str name)
{
	struct str other, rest;

	for (; v; v = v->next)
		if (spec_parse_pair(str_c(v->text), &other, &rest) == 0 &&
			str_eq(other, name))
			return true;
	return false;
}

static void settings_write_pairs(struct jw *w, const struct option_values *list)
{
	struct str name, value;

	for (const struct option_value *v = list->first; v; v = v->next) {
		if (spec_parse_pair(str_c(v->text), &name, &value) ||
			settings_is_repeated(v->next, name))
			continue;
		jw_key_str(w, name);
		jw_str(w, value);
	}
}

/* Writes an object with a member for each pair of the list, if there are any. */
static void settings_write_map(
	struct jw *w, const char *key, const struct option_values *list)
{
	if (!list->n)
		return;
	jw_key(w, key);
	jw_object(w);
	settings_write_pairs(w, list);
	jw_end(w);
}

void settings_write_labels(const struct settings *s, struct jw *w)
{
	settings_write_pairs(w, &s->options->label);
}

static bool settings_is_same_port(
	const struct spec_parse_ports *a, const struct spec_parse_ports *b)
{
	return a->inside == b->inside && strcmp(a->protocol, b->protocol) == 0;
}

static bool settings_is_first_port(const struct settings *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (settings_is_same_port(&s->ports[k], &s->ports[i]))
			return false;
	return true;
}

static void settings_write_port_key(const struct spec_parse_ports *p, struct jw *w)
{
	char key[16];

	snprintf(key, sizeof(key), "%u/%s", p->inside, p->protocol);
	jw_key(w, key);
}

void settings_write_exposed(const struct settings *s, struct jw *w)
{
	for (size_t i = 0; i < s->ports_n; i++) {
		if (!settings_is_first_port(s, i))
			continue;
		settings_write_port_key(&s->ports[i], w);
		jw_object(w);
		jw_end(w);
	}
}

static void settings_write_binding(const struct spec_parse_ports *p, struct jw *w)
{
	char number_text[16] = "";

	if (p->outside && p->outside_n > 1)
		snprintf(number_text, sizeof(number_text), "%u-%u", p->outside,
			p->outside + p->outside_n - 1u);
	else if (p->outside)
		snprintf(number_text, sizeof(number_text), "%u", p->outside);
	jw_object(w);
	jw_key(w, "HostIp");
	jw_str(w, p->address.n ? p->address : STR("127.0.0.1"));
	jw_key(w, "HostPort");
	jw_cstr(w, number_text);
	jw_end(w);
}

void settings_write_ports(const struct settings *s, struct jw *w)
{
	for (size_t i = 0; i < s->ports_n; i++) {
		if (!settings_is_first_port(s, i))
			continue;
		settings_write_port_key(&s->ports[i], w);
		jw_array(w);
		for (size_t k = i; k < s->ports_n; k++)
			if (settings_is_same_port(&s->ports[k], &s->ports[i]))
				settings_write_binding(&s->ports[k], w);
		jw_end(w);
	}
}

/* -v unchanged: the engine creates a missing source, as users expect. */
static void settings_write_binds(const struct settings *s, struct jw *w)
{
	bool begun = false;

	for (size_t i = 0; i < s->mounts_n; i++) {
		const struct spec_parse_mount *m = &s->mounts[i];
		struct jw_text t;

		if (!m->short_form || !m->source.n || m->type == SPEC_OVERLAY)
			continue;
		if (!begun) {
			jw_key(w, "Binds");
			jw_array(w);
			begun = true;
		}
		jw_text_begin(&t, w);
		jw_text_put(&t, m->source);
		jw_text_put(&t, STR(":"));
		jw_text_put(&t, m->target);
		if (m->modes.n) {
			jw_text_put(&t, STR(":"));
			jw_text_put(&t, m->modes);
		}
		jw_text_end(&t);
	}
	if (begun)
		jw_end(w);
}

static void settings_write_overlay(
	struct str lower, const struct settings_overlay *o, struct jw *w)
{
	struct jw_text t;

	jw_key(w, "VolumeOptions");
	jw_object(w);
	jw_key(w, "NoCopy");
	jw_bool(w, true);
	jw_key(w, "DriverConfig");
	jw_object(w);
	settings_write_text(w, "Name", "local");
	jw_key(w, "Options");
	jw_object(w);
	settings_write_text(w, "type", "overlay");
	settings_write_text(w, "device", "overlay");
	jw_key(w, "o");
	jw_text_begin(&t, w);
	jw_text_put(&t, STR("lowerdir="));
	jw_text_put(&t, lower);
	jw_text_put(&t, STR(",upperdir="));
	jw_text_put(&t, o->upper);
	jw_text_put(&t, STR(",workdir="));
	jw_text_put(&t, o->work);
	jw_text_end(&t);
	for (unsigned i = 0; i < 3; i++)
		jw_end(w);
}

static void settings_write_mount(const struct spec_parse_mount *m, struct jw *w)
{
	settings_write_flag(w, "ReadOnly", m->read_only);
	if (m->no_copy) {
		jw_key(w, "VolumeOptions");
		jw_object(w);
		settings_write_flag(w, "NoCopy", true);
		jw_end(w);
	}
	if (m->propagation.n) {
		jw_key(w, "BindOptions");
		jw_object(w);
		jw_key(w, "Propagation");
		jw_str(w, m->propagation);
		jw_end(w);
	}
	if (m->has_size || m->has_mode) {
		jw_key(w, "TmpfsOptions");
		jw_object(w);
		if (m->has_size)
			settings_write_number(w, "SizeBytes", m->size);
		if (m->has_mode)
			settings_write_number(w, "Mode", m->mode);
		jw_end(w);
	}
}

static void settings_write_mounts(
	const struct settings *s, const struct settings_overlay *overlays, struct jw *w)
{
	static const char *const types[] = {
		[SPEC_BIND] = "bind",
		[SPEC_VOLUME] = "volume",
		[SPEC_TMPFS] = "tmpfs",
		[SPEC_OVERLAY] = "volume",
	};

	jw_key(w, "Mounts");
	jw_array(w);
	for (size_t i = 0; i < s->mounts_n; i++) {
		const struct spec_parse_mount *m = &s->mounts[i];
		bool overlay = m->type == SPEC_OVERLAY;

		if (m->short_form && m->source.n && !overlay)
			continue;
		jw_object(w);
		settings_write_text(w, "Type", types[m->type]);
		if (m->source.n && !overlay) {
			jw_key(w, "Source");
			jw_str(w, m->source);
		}
		jw_key(w, "Target");
		jw_str(w, m->target);
		if (overlay)
			settings_write_overlay(m->source, overlays++, w);
		else
			settings_write_mount(m, w);
		jw_end(w);
	}
	jw_end(w);
}

static void settings_write_tmpfs(const struct option_values *list, struct jw *w)
{
	if (!list->n)
		return;
	jw_key(w, "Tmpfs");
	jw_object(w);
	for (const struct option_value *v = list->first; v; v = v->next) {
		struct str options = str_c(v->text), path = str_cut(&options, ':');

		jw_key_str(w, path);
		jw_str(w, options);
	}
	jw_end(w);
}

static void settings_write_ulimits(const struct option_values *list, struct jw *w)
{
	struct spec_parse_ulimit u;
	const char *why;

	if (!list->n)
		return;
	jw_key(w, "Ulimits");
	jw_array(w);
	for (const struct option_value *v = list->first; v; v = v->next) {
		if (spec_parse_ulimit(str_c(v->text), &u, &why))
			continue;
		jw_object(w);
		jw_key(w, "Name");
		jw_str(w, u.name);
		jw_key(w, "Soft");
		jw_int(w, u.soft);
		jw_key(w, "Hard");
		jw_int(w, u.hard);
		jw_end(w);
	}
	jw_end(w);
}

static void settings_write_gpus(const struct spec_parse_gpus *g, struct jw *w)
{
	struct str ids = g->ids;

	jw_key(w, "DeviceRequests");
	jw_array(w);
	jw_object(w);
	if (ids.n) {
		jw_key(w, "DeviceIDs");
		jw_array(w);
		while (ids.n)
			jw_str(w, str_cut(&ids, ','));
		jw_end(w);
	} else {
		jw_key(w, "Count");
		jw_int(w, g->count);
	}
	jw_key(w, "Capabilities");
	jw_array(w);
	jw_array(w);
	jw_cstr(w, "gpu");
	for (unsigned i = 0; i < 4; i++)
		jw_end(w);
}

static void settings_write_security(const struct settings *s, bool podman, struct jw *w)
{
	if (!s->security_n)
		return;
	jw_key(w, "SecurityOpt");
	jw_array(w);
	for (size_t i = 0; i < s->security_n; i++)
		jw_str(w, podman ? s->security[i].named : s->security[i].whole);
	jw_end(w);
}

static void settings_write_devices(const struct option_values *list, struct jw *w)
{
	struct spec_parse_device d;
	const char *why;

	if (!list->n)
		return;
	jw_key(w, "Devices");
	jw_array(w);
	for (const struct option_value *v = list->first; v; v = v->next) {
		if (spec_parse_device(str_c(v->text), &d, &why))
			continue;
		jw_object(w);
		jw_key(w, "PathOnHost");
		jw_str(w, d.outside);
		jw_key(w, "PathInContainer");
		jw_str(w, d.inside);
		jw_key(w, "CgroupPermissions");
		jw_str(w, d.rights);
		jw_end(w);
	}
	jw_end(w);
}

static void settings_write_restart(const struct sandbox_options *o, struct jw *w)
{
	struct spec_parse_restart restart;
	const char *why;

	if (!o->restart || spec_parse_restart(str_c(o->restart), &restart, &why))
		return;
	jw_key(w, "RestartPolicy");
	jw_object(w);
	jw_key(w, "Name");
	jw_str(w, restart.policy);
	jw_key(w, "MaximumRetryCount");
	jw_uint(w, restart.retries);
	jw_end(w);
}

static void settings_write_log(const struct sandbox_options *o, struct jw *w)
{
	if (!o->log_driver && !o->log_opt.n)
		return;
	jw_key(w, "LogConfig");
	jw_object(w);
	jw_key(w, "Type");
	jw_cstr(w, o->log_driver ? o->log_driver : "");
	jw_key(w, "Config");
	jw_object(w);
	settings_write_pairs(w, &o->log_opt);
	jw_end(w);
	jw_end(w);
}

/* Writes the options that their table maps to members of HostConfig. */
static void settings_write_members(const struct sandbox_options *o, struct jw *w)
{
	for (const struct option *opt = engine_set.options; opt->name; opt++) {
		const char *at = (const char *)o + opt->at;

		if (!opt->member)
			continue;
		switch (opt->kind) {
		case OPTION_FLAG:
			settings_write_flag(w, opt->member, *(const bool *)at);
			break;
		case OPTION_TEXT:
			settings_write_text(w, opt->member, *(const char *const *)at);
			break;
		case OPTION_LIST:
			settings_write_list(w, opt->member, (const void *)at);
			break;
		default:
			settings_write_number(w, opt->member, *(const uint64_t *)at);
		}
	}
}

void settings_write_host(const struct settings *s,
	const struct settings_overlay *overlays, bool podman, struct jw *w)
{
	const struct sandbox_options *o = s->options;

	settings_write_text(w, "NetworkMode", o->network);
	settings_write_number(w, "Memory", o->memory);
	settings_write_number(w, "NanoCpus", o->nano_cpus);
	settings_write_number(w, "PidsLimit", o->pids);
	settings_write_number(w, "ShmSize", o->shm_size);
	settings_write_flag(w, "Init", o->init);
	settings_write_flag(w, "ReadonlyRootfs", o->read_only);
	settings_write_list(w, "CapAdd", &o->cap_add);
	settings_write_list(w, "CapDrop", &o->cap_drop);
	settings_write_list(w, "ExtraHosts", &o->add_host);
	settings_write_security(s, podman, w);
	settings_write_binds(s, w);
	if (s->mounts_n)
		settings_write_mounts(s, overlays, w);
	settings_write_tmpfs(&o->tmpfs, w);
	settings_write_ulimits(&o->ulimit, w);
	if (o->gpus)
		settings_write_gpus(&s->gpus, w);
	settings_write_devices(&o->device, w);
	settings_write_restart(o, w);
	settings_write_log(o, w);
	settings_write_map(w, "Sysctls", &o->sysctl);
	settings_write_map(w, "Annotations", &o->annotation);
	settings_write_flag(w, "PublishAllPorts", o->publish_all);
	settings_write_members(o, w);
}
