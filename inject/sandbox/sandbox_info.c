#include "inject/sandbox/sandbox_info.h"

#include "inject/console/out.h"
#include "inject/engine/engine_time.h"
#include "inject/names/sandbox_label.h"
#include "inject/sandbox/sandbox.h"
#include "limits.h"

#include <errno.h>
#include <stdio.h>

/* --- Reading ------------------------------------------------------------------------ */

static struct str sandbox_info_trim_name(struct str name)
{
	return str_starts(name, STR("/")) ? str_skip(name, 1) : name;
}

static struct str sandbox_info_choose_method(const struct sandbox_info *info)
{
	struct str via;

	if (info->origin == SANDBOX_INJECTED)
		return STR("inject");
	via = sandbox_label_read(info->doc, info->labels, SANDBOX_LABEL_METHOD);
	return via.n ? via : STR("image");
}

/*
 * Fills in the members that follow from the name, the ids and the labels. 0; 1: the
 * container is no sandbox; errors.
 */
static int sandbox_info_identify(struct sandbox_origins *o, struct sandbox_info *info)
{
	const struct sandbox_identity identity = {
		.name = info->name,
		.id = info->id,
		.image = info->image_id,
		.labels = info->labels,
	};
	struct state known;
	int r = sandbox_origin_find(
		o, info->doc, &identity, &info->origin, &info->inside);

	if (r)
		return r;
	if (info->origin == SANDBOX_FOREIGN || !state_is_name(info->name) ||
		!state_is_name(info->id))
		return 1;
	info->keyed = state_find(info->name, info->id, &known);
	if (info->keyed) {
		info->tls = known.tls;
		info->pinned = known.pinned;
		memcpy(info->pin, known.pin, sizeof(info->pin));
		state_wipe_key(&known);
	}
	info->image = sandbox_label_read(info->doc, info->labels, SANDBOX_LABEL_IMAGE);
	if (!info->image.n || info->origin == SANDBOX_INJECTED)
		info->image = info->runtime_image;
	info->method = sandbox_info_choose_method(info);
	return 0;
}

static uint16_t sandbox_info_read_row_port(
	const struct sandbox_info *info, struct json_val ports)
{
	struct json_val port;
	uint16_t own = sandbox_host_port(info->doc, info->labels, info->network);
	int it = 0;

	while (!own && json_next(ports, &it, NULL, &port))
		if (json_doc_int(json_get(port, "PrivatePort"), 0) == info->inside &&
			str_eq(json_doc_str(info->doc, json_get(port, "Type")),
				STR("tcp")))
			own = (uint16_t)json_doc_uint(
				json_get(port, "PublicPort"), UINT16_MAX);
	return own;
}

int sandbox_info_read_row(struct sandbox_origins *o, struct json_doc *d,
	struct json_val v, struct sandbox_info *info)
{
	struct sandbox_info got = {
		.doc = d,
		.id = json_doc_str(d, json_get(v, "Id")),
		.runtime_image = json_doc_str(d, json_get(v, "Image")),
		.image_id = json_doc_str(d, json_get(v, "ImageID")),
		.state = json_doc_str(d, json_get(v, "State")),
		.labels = json_get(v, "Labels"),
		.network = json_doc_str(
			d, json_get(json_get(v, "HostConfig"), "NetworkMode")),
		.created = json_doc_int(json_get(v, "Created"), 0),
	};
	struct json_val name = {0};
	int it = 0, r;

	if (json_next(json_get(v, "Names"), &it, NULL, &name))
		got.name = sandbox_info_trim_name(json_doc_str(d, name));
	got.paused = str_eq(got.state, STR("paused"));
	got.running = got.paused || str_eq(got.state, STR("running"));
	r = sandbox_info_identify(o, &got);
	if (r)
		return r;
	got.port = sandbox_info_read_row_port(&got, json_get(v, "Ports"));
	*info = got;
	return 0;
}

static int64_t sandbox_info_read_time(struct json_doc *d, struct json_val v)
{
	int64_t seconds;
	uint32_t nanos;

	return engine_time_read(json_doc_str(d, v), &seconds, &nanos) ? seconds : -1;
}

/* The address in the first network that has one. */
static struct str sandbox_info_read_address(struct json_doc *d, struct json_val networks)
{
	struct json_val network;
	struct str address = {0};
	int it = 0;

	while (!address.n && json_next(networks, &it, NULL, &network))
		address = json_doc_str(d, json_get(network, "IPAddress"));
	return address;
}

int sandbox_info_read(
	struct sandbox_origins *o, struct json_doc *d, struct sandbox_info *info)
{
	struct json_val root = json_doc_root(d), config = json_get(root, "Config");
	struct json_val state = json_get(root, "State");
	struct json_val host = json_get(root, "HostConfig");
	struct json_val network = json_get(root, "NetworkSettings");
	struct sandbox_info got = {
		.doc = d,
		.name = sandbox_info_trim_name(json_doc_str(d, json_get(root, "Name"))),
		.id = json_doc_str(d, json_get(root, "Id")),
		.runtime_image = json_doc_str(d, json_get(config, "Image")),
		.image_id = json_doc_str(d, json_get(root, "Image")),
		.state = json_doc_str(d, json_get(state, "Status")),
		.labels = json_get(config, "Labels"),
		.network = json_doc_str(d, json_get(host, "NetworkMode")),
		.address = sandbox_info_read_address(d, json_get(network, "Networks")),
		.ports = json_get(network, "Ports"),
		.limits = host,
		.created = sandbox_info_read_time(d, json_get(root, "Created")),
		.started = sandbox_info_read_time(d, json_get(state, "StartedAt")),
		.running = json_doc_is_true(json_get(state, "Running")),
	};
	int r = sandbox_info_identify(o, &got);

	if (r)
		return r;
	got.exit_code = got.running || got.started < 0
		? -1
		: json_doc_int(json_get(state, "ExitCode"), -1);
	got.port = got.running ? sandbox_published_port(d, got.inside) : 0;
	*info = got;
	return 0;
}

/* --- Members ------------------------------------------------------------------------ */

static void sandbox_info_put_uint(uint64_t v, struct jw *w)
{
	if (v)
		jw_uint(w, v);
	else
		jw_null(w);
}

static void sandbox_info_put_str(struct str s, struct jw *w)
{
	if (s.n)
		jw_str(w, s);
	else
		jw_null(w);
}

static void sandbox_info_put_name(const struct sandbox_info *info, struct jw *w)
{
	jw_str(w, info->name);
}

static void sandbox_info_put_id(const struct sandbox_info *info, struct jw *w)
{
	jw_str(w, info->id);
}

static void sandbox_info_put_image(const struct sandbox_info *info, struct jw *w)
{
	jw_str(w, info->image);
}

static void sandbox_info_put_runtime_image(const struct sandbox_info *info, struct jw *w)
{
	jw_str(w, info->runtime_image);
}

static void sandbox_info_put_image_id(const struct sandbox_info *info, struct jw *w)
{
	jw_str(w, info->image_id);
}

static void sandbox_info_put_method(const struct sandbox_info *info, struct jw *w)
{
	jw_str(w, info->method);
}

static void sandbox_info_put_state(const struct sandbox_info *info, struct jw *w)
{
	jw_str(w, info->state);
}

static void sandbox_info_put_created(const struct sandbox_info *info, struct jw *w)
{
	jw_int(w, info->created);
}

static void sandbox_info_put_started(const struct sandbox_info *info, struct jw *w)
{
	if (info->started < 0)
		jw_null(w);
	else
		jw_int(w, info->started);
}

static void sandbox_info_put_exit_code(const struct sandbox_info *info, struct jw *w)
{
	if (info->exit_code < 0)
		jw_null(w);
	else
		jw_int(w, info->exit_code);
}

static void sandbox_info_put_port(const struct sandbox_info *info, struct jw *w)
{
	sandbox_info_put_uint(info->port, w);
}

static void sandbox_info_put_url(const struct sandbox_info *info, struct jw *w)
{
	char url[48] = "";

	if (info->port)
		snprintf(url, sizeof(url), "http%s://127.0.0.1:%u", info->tls ? "s" : "",
			info->port);
	sandbox_info_put_str(str_c(url), w);
}

static void sandbox_info_put_address(const struct sandbox_info *info, struct jw *w)
{
	sandbox_info_put_str(info->address, w);
}

static void sandbox_info_put_inside(const struct sandbox_info *info, struct jw *w)
{
	jw_uint(w, info->inside);
}

static void sandbox_info_put_network(const struct sandbox_info *info, struct jw *w)
{
	jw_str(w, info->network);
}

static void sandbox_info_put_key_file(const struct sandbox_info *info, struct jw *w)
{
	char name[STATE_NAME_MAX + 1], path[FILE_PATH_MAX] = "";

	snprintf(name, sizeof(name), "%.*s", STR_ARG(info->name));
	if (!info->keyed || state_path(name, path, sizeof(path)))
		jw_null(w);
	else
		jw_cstr(w, path);
}

/* A port of the engine's answer has a list of addresses: "80/tcp": [{...}]. */
static void sandbox_info_put_ports(const struct sandbox_info *info, struct jw *w)
{
	struct json_val key, list, one;
	int it = 0;

	jw_array(w);
	while (json_next(info->ports, &it, &key, &list)) {
		struct str protocol = json_doc_str(info->doc, key);
		uint64_t port, outside;
		int at = 0;

		if (str_u64(str_cut(&protocol, '/'), UINT16_MAX, &port))
			continue;
		while (json_next(list, &at, NULL, &one)) {
			struct str host =
				json_doc_str(info->doc, json_get(one, "HostPort"));

			if (str_u64(host, UINT16_MAX, &outside))
				continue;
			jw_object(w);
			jw_key(w, "container_port");
			jw_uint(w, port);
			jw_key(w, "protocol");
			jw_str(w, protocol);
			jw_key(w, "host_address");
			jw_str(w, json_doc_str(info->doc, json_get(one, "HostIp")));
			jw_key(w, "host_port");
			jw_uint(w, outside);
			jw_end(w);
		}
	}
	jw_end(w);
}

/* A reserved label is written only if it is valid and not empty. */
static void sandbox_info_put_labels(const struct sandbox_info *info, struct jw *w)
{
	struct json_val key, v;
	int it = 0;

	jw_object(w);
	while (json_next(info->labels, &it, &key, &v)) {
		struct str name = json_doc_str(info->doc, key);
		struct str value = json_doc_str(info->doc, v);
		enum sandbox_label which;

		if (sandbox_label_is_reserved(name, &which)) {
			if (which == SANDBOX_LABELS || info->origin == SANDBOX_INJECTED)
				continue;
			value = sandbox_label_read(info->doc, info->labels, which);
			if (!value.n)
				continue;
		}
		jw_key_str(w, name);
		jw_str(w, value);
	}
	jw_end(w);
}

static void sandbox_info_put_limits(const struct sandbox_info *info, struct jw *w)
{
	uint64_t nano = json_doc_uint(json_get(info->limits, "NanoCpus"), INT64_MAX);

	jw_object(w);
	jw_key(w, "memory");
	sandbox_info_put_uint(
		json_doc_uint(json_get(info->limits, "Memory"), INT64_MAX), w);
	jw_key(w, "cpus");
	if (nano)
		jw_double(w, (double)nano / 1e9);
	else
		jw_null(w);
	jw_key(w, "pids");
	sandbox_info_put_uint(
		json_doc_uint(json_get(info->limits, "PidsLimit"), INT64_MAX), w);
	jw_key(w, "shm_size");
	sandbox_info_put_uint(
		json_doc_uint(json_get(info->limits, "ShmSize"), INT64_MAX), w);
	jw_end(w);
}

static void sandbox_info_put_cpu(const struct sandbox_info *info, struct jw *w)
{
	if (info->measured)
		jw_double(w, (double)info->cpu_ns / 1e9);
	else
		jw_null(w);
}

static void sandbox_info_put_memory(const struct sandbox_info *info, struct jw *w)
{
	if (info->measured)
		jw_uint(w, info->memory);
	else
		jw_null(w);
}

enum {
	LIST = SANDBOX_MEMBERS_LIST,
	START = SANDBOX_MEMBERS_START,
	INSPECT = SANDBOX_MEMBERS_INSPECT,
	ALL = LIST | START | INSPECT,
};

static const struct {
	const char *name;
	unsigned in;
	void (*put)(const struct sandbox_info *info, struct jw *w);
} members[] = {
	{"name", ALL, sandbox_info_put_name},
	{"id", ALL, sandbox_info_put_id},
	{"image", ALL, sandbox_info_put_image},
	{"runtime_image", ALL, sandbox_info_put_runtime_image},
	{"image_id", INSPECT, sandbox_info_put_image_id},
	{"injection_method", ALL, sandbox_info_put_method},
	{"state", ALL, sandbox_info_put_state},
	{"created", ALL, sandbox_info_put_created},
	{"started", INSPECT, sandbox_info_put_started},
	{"exit_code", INSPECT, sandbox_info_put_exit_code},
	{"port", ALL, sandbox_info_put_port},
	{"url", START | INSPECT, sandbox_info_put_url},
	{"key_file", START | INSPECT, sandbox_info_put_key_file},
	{"network", INSPECT, sandbox_info_put_network},
	{"address", INSPECT, sandbox_info_put_address},
	{"container_port", INSPECT, sandbox_info_put_inside},
	{"ports", INSPECT, sandbox_info_put_ports},
	{"labels", INSPECT, sandbox_info_put_labels},
	{"limits", INSPECT, sandbox_info_put_limits},
	{"cpu_seconds", LIST, sandbox_info_put_cpu},
	{"memory", LIST, sandbox_info_put_memory},
};

void sandbox_info_write(
	const struct sandbox_info *info, enum sandbox_members which, struct jw *w)
{
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (!(members[i].in & which))
			continue;
		jw_key(w, members[i].name);
		members[i].put(info, w);
	}
}

int sandbox_info_request(
	const struct engine *e, const char *id, enum sandbox_members which, struct jw *w)
{
	struct sandbox_origins origins;
	struct sandbox_info info;
	struct reply reply;
	struct json_doc d = {0};
	int r = engine_request(
		e, &reply, "GET", (struct str){0}, "/containers/%s/json", id);

	sandbox_origins_init(&origins, e);
	if (r)
		goto out;
	if (reply.status != 200) {
		r = engine_fail_reply(&reply, "od-runtime ps lists the sandboxes",
			"inspecting the sandbox %s", id);
		goto out;
	}
	r = json_doc_parse(&d, buf_view(&reply.body));
	if (!r)
		r = sandbox_info_read(&origins, &d, &info);
	if (!r)
		sandbox_info_write(&info, which, w);
	else if (r == 1 || (r != -ENOMEM && r != -EINTR && r > FAIL_BASE))
		r = out_fail(ENGINE_NEXT_LOG,
			"the engine's description of the sandbox %s cannot be read", id);
out:
	json_doc_free(&d);
	sandbox_origins_free(&origins);
	reply_free(&reply);
	return r;
}

int sandbox_info_render(const struct engine *e, const struct state *s, bool json,
	void (*more)(void *arg, struct jw *w), void *arg, struct buf *out)
{
	struct jw w;
	int r;

	if (!json) {
		buf_puts(out, s->name);
		return out->err;
	}
	jw_init(&w, out);
	jw_object(&w);
	r = sandbox_info_request(e, s->id, SANDBOX_MEMBERS_START, &w);
	if (more)
		more(arg, &w);
	jw_end(&w);
	return r;
}

int sandbox_info_print(const struct engine *e, const struct state *s, bool json,
	void (*more)(void *arg, struct jw *w), void *arg)
{
	struct buf out = BUF_INIT(INJECT_TEXT_MAX);
	int r = sandbox_info_render(e, s, json, more, arg, &out);

	if (!r)
		return out_write_line(&out);
	buf_free(&out);
	return r;
}
