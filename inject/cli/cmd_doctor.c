/* Reports what an engine, an image or a sandbox has and lacks, and the consequences. */
#include "inject/cli/commands.h"

#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/image/embedded.h"
#include "inject/image/plan.h"
#include "inject/image/plugin.h"
#include "inject/image/probe.h"
#include "inject/names/ref.h"
#include "inject/names/sandbox_label.h"
#include "inject/options/options_rows.h"
#include "inject/options/options_sets.h"
#include "inject/sandbox/sandbox.h"
#include "limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

struct doctor_options {
	struct client_options client;
	struct plugin_options plugin;
};

enum level { LEVEL_OK, LEVEL_NOTE, LEVEL_PROBLEM };

static const char *const level_words[] = {
	[LEVEL_OK] = "ok",
	[LEVEL_NOTE] = "note",
	[LEVEL_PROBLEM] = "problem",
};

struct doctor {
	const struct client_options *client;
	bool json;
	struct engine engine;
	struct plugins plugins;
	struct buf out; /* lines, or the members of a JSON array */
	struct jw w;
	size_t problems;
};

/* Reports a finding; means is its consequence, or NULL. */
static void doctor_report(struct doctor *d, enum level level, const char *about,
	const char *means, const char *fmt, ...) PRINTF(5, 6);

static void doctor_report(struct doctor *d, enum level level, const char *about,
	const char *means, const char *fmt, ...)
{
	struct buf clean = BUF_INIT(INJECT_TEXT_MAX);
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	out_clean(&clean, str_c(text), false);
	d->problems += level == LEVEL_PROBLEM;
	if (d->json) {
		jw_object(&d->w);
		jw_key(&d->w, "level");
		jw_cstr(&d->w, level_words[level]);
		jw_key(&d->w, "about");
		jw_cstr(&d->w, about);
		jw_key(&d->w, "found");
		jw_str(&d->w, buf_view(&clean));
		if (means) {
			jw_key(&d->w, "means");
			jw_cstr(&d->w, means);
		}
		jw_end(&d->w);
	} else {
		buf_fmt(&d->out, "%-8s %-11s %.*s\n", level_words[level], about,
			STR_ARG(buf_view(&clean)));
		if (means)
			buf_fmt(&d->out, "%21s%s\n", "", means);
	}
	buf_free(&clean);
}

/* --- The engine ------------------------------------------------------------------ */

static bool doctor_has_entry(struct json_doc *doc, struct json_val list, const char *word)
{
	struct json_val v;
	int it = 0;

	while (json_next(list, &it, NULL, &v)) {
		struct str text = json_doc_str(doc, v);

		if (str_find(text, str_c(word)) < text.n)
			return true;
	}
	return false;
}

/* Whether the list of pairs names containerd's image store. */
static bool doctor_is_containerd(struct json_doc *doc, struct json_val rows)
{
	struct json_val row;
	int it = 0;

	while (json_next(rows, &it, NULL, &row))
		if (doctor_has_entry(doc, row, "io.containerd.snapshotter"))
			return true;
	return false;
}

static void doctor_report_info(struct doctor *d, struct json_doc *doc)
{
	struct json_val root = json_doc_root(doc);
	struct json_val security = json_get(root, "SecurityOptions");
	struct str store = json_doc_str(doc, json_get(root, "Driver"));
	struct str cgroup = json_doc_str(doc, json_get(root, "CgroupVersion"));
	struct str os = json_doc_str(doc, json_get(root, "OSType"));
	const char *sep = "";
	char words[128] = "";
	static const char *const options[] = {
		"rootless", "userns", "selinux", "apparmor", "seccomp"};

	doctor_report(d, LEVEL_OK, "storage", NULL, "%.*s%s", STR_ARG(store),
		doctor_is_containerd(doc, json_get(root, "DriverStatus"))
			? ", containerd's image store"
			: "");
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		size_t n = strlen(words);

		if (!doctor_has_entry(doc, security, options[i]))
			continue;
		snprintf(words + n, sizeof(words) - n, "%s%s", sep, options[i]);
		sep = ", ";
	}
	doctor_report(d, LEVEL_OK, "security", NULL, "%s",
		*words ? words : "no security options");
	if (str_eq(cgroup, STR("1")))
		doctor_report(d, LEVEL_NOTE, "cgroups",
			"--memory works, --memory-swap may be ignored", "version 1");
	else
		doctor_report(d, LEVEL_OK, "cgroups", NULL, "version %.*s",
			STR_ARG(cgroup.n ? cgroup : STR("unknown")));
	if (os.n && !str_eq(os, STR("linux")))
		doctor_report(d, LEVEL_PROBLEM, "engine",
			"only Linux images can become sandboxes",
			"it runs containers of %.*s", STR_ARG(os));
}

/* Requests a document: 0; 1 if the engine does not have it; an error. */
static int doctor_fetch_json(struct doctor *d, struct reply *reply, struct json_doc *doc,
	const struct target *target)
{
	int r = engine_request_at(&d->engine, reply, "GET", (struct str){0}, target);

	if (r || reply->status != 200)
		return r ? r : 1;
	r = json_doc_parse(doc, buf_view(&reply->body));
	if (!r || r == -ENOMEM)
		return r;
	doctor_report(d, LEVEL_PROBLEM, "engine", ENGINE_NEXT_LOG,
		"its reply to %.*s is not JSON: %s", STR_ARG(target_view(target)),
		err_text(r));
	return 1;
}

static int doctor_check_engine(struct doctor *d)
{
	const struct engine *e = &d->engine;
	struct reply reply;
	struct json_doc doc;
	int r = doctor_fetch_json(d, &reply, &doc, TARGET("/version"));

	if (!r) {
		struct json_val root = json_doc_root(&doc);

		doctor_report(d, LEVEL_OK, "engine", NULL,
			"%s %.*s, API %s, linux/%.*s, at %s",
			e->podman ? "Podman" : "Docker",
			STR_ARG(json_doc_str(&doc, json_get(root, "Version"))),
			e->prefix + 2,
			STR_ARG(json_doc_str(&doc, json_get(root, "Arch"))), e->path);
		json_doc_free(&doc);
	}
	reply_free(&reply);
	if (r < 0)
		return r;
	doctor_report(d, LEVEL_OK, "builder", NULL, "%s",
		e->buildkit         ? "BuildKit"
			: e->podman ? "Buildah"
				    : "the classic builder");
	r = doctor_fetch_json(d, &reply, &doc, TARGET("/info"));
	if (!r) {
		doctor_report_info(d, &doc);
		json_doc_free(&doc);
	}
	reply_free(&reply);
	return r < 0 ? r : 0;
}

static void doctor_check_embedded(struct doctor *d)
{
	struct buf list = BUF_INIT(256);

	if (program_list_embedded(STR(EMBEDDED_CLIENT), &list) == 0 && list.n)
		doctor_report(d, LEVEL_OK, "carried", NULL,
			"clients embedded in od-runtime:%.*s", STR_ARG(buf_view(&list)));
	else
		doctor_report(d, LEVEL_NOTE, "carried",
			"put od-runtime-client beside od-runtime, or give it with "
			"--client",
			"no client is embedded in od-runtime");
	buf_free(&list);
}

/* --- An image -------------------------------------------------------------------- */

static void doctor_check_config(struct doctor *d, struct image *im)
{
	const char *why = image_refusal(im), *build = image_build_refusal(im);
	struct str user = json_doc_str(&im->doc, json_get(im->config, "User"));
	struct str signal = json_doc_str(&im->doc, json_get(im->config, "StopSignal"));
	struct str dir = json_doc_str(&im->doc, json_get(im->config, "WorkingDir"));
	struct json_val entry = json_get(im->config, "Entrypoint");
	struct json_val cmd = json_get(im->config, "Cmd");
	size_t layers;

	doctor_report(d, LEVEL_OK, "image", NULL, "%.*s, %.*s/%.*s, %zu layers",
		STR_ARG(im->id), STR_ARG(im->os), STR_ARG(im->arch),
		json_count(im->layers));
	if (why)
		doctor_report(
			d, LEVEL_PROBLEM, "image", "choose another image", "%s", why);
	if (build)
		doctor_report(d, LEVEL_NOTE, "build",
			"od-runtime run works; od-runtime build does not, use run --via "
			"commit",
			"%s", build);
	if (image_base_layers(im, &layers) == 0)
		doctor_report(d, LEVEL_OK, "client", NULL, "made by od-runtime %.*s",
			STR_ARG(image_label(im, "od.version")));
	doctor_report(
		d, LEVEL_OK, "user", NULL, "%.*s", STR_ARG(user.n ? user : STR("root")));
	doctor_report(
		d, LEVEL_OK, "workdir", NULL, "%.*s", STR_ARG(dir.n ? dir : STR("/")));
	if (json_count(entry) || json_count(cmd))
		doctor_report(d, LEVEL_OK, "entrypoint",
			"the client replaces it; with run --entrypoint run, the client "
			"starts it too",
			"%.*s %.*s",
			STR_ARG(json_count(entry) ? json_raw(entry) : STR("[]")),
			STR_ARG(json_count(cmd) ? json_raw(cmd) : STR("[]")));
	if (image_has_healthcheck(im))
		doctor_report(d, LEVEL_NOTE, "health",
			"the client is not what it checks, so sandboxes are started "
			"without it",
			"the image has a HEALTHCHECK");
	if (signal.n && !str_eq(signal, STR("SIGTERM")))
		doctor_report(d, LEVEL_NOTE, "stopsignal",
			"sandboxes are stopped with SIGTERM instead", "%.*s",
			STR_ARG(signal));
}

static void doctor_check_client(struct doctor *d, struct image *im)
{
	struct program client;

	if (program_find_client(
		    &client, d->client->client, im->arch, !d->client->no_od_plugins)) {
		doctor_report(d, LEVEL_PROBLEM, "client",
			"give the path of od-runtime-client with --client",
			"no od-runtime-client was found");
		return;
	}
	if (str_eq(str_c(client.arch), im->arch))
		doctor_report(d, LEVEL_OK, "client", NULL, "for %s, %zu bytes",
			client.arch, client.bytes.n);
	else
		doctor_report(d, LEVEL_PROBLEM, "client",
			"give the od-runtime-client for that architecture with --client",
			"the image is for %.*s, the client for %s", STR_ARG(im->arch),
			client.arch);
	if (client.plugins)
		doctor_report(d, LEVEL_OK, "od-plugins", NULL, "%zu bytes",
			client.plugins->bytes.n);
	else
		doctor_report(d, LEVEL_NOTE, "od-plugins",
			"sandboxes have no browser and no skills; put od-plugins beside "
			"the client",
			"no od-plugins was found");
	program_free(&client);
}

/* Files that an image may have, and the consequence if it lacks them. */
static const struct {
	const char *about;
	const char *paths[5];
	const char *missing;
} doctor_files[] = {
	{"bash", {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", NULL},
		"commands run in another shell"},
	{"python",
		{"/usr/bin/python3", "/usr/local/bin/python3", "/opt/venv/bin/python3",
			"/.od/plugins/python/bin/python3", NULL},
		"run_ipython has no interpreter"},
	{"git", {"/usr/bin/git", "/usr/local/bin/git", NULL},
		"there is no git in the shell"},
	{"users", {"/etc/passwd", NULL}, "users have no names, only numbers"},
	{"tmp", {"/tmp", NULL}, "programs that need /tmp fail; run --tmpfs /tmp adds it"},
};

/* Whether a --plugin brings a Python. */
static bool doctor_has_python_plugin(const struct doctor *d)
{
	for (size_t i = 0; i < d->plugins.n; i++) {
		const struct plugin *p = &d->plugins.list[i];

		if (!str_eq(p->name, STR("python")))
			continue;
		for (size_t k = 0; k < p->n; k++)
			if (strcmp(p->paths[k], "bin/python3") == 0)
				return true;
		return p->image;
	}
	return false;
}

static int doctor_check_file(struct doctor *d, const char *id, size_t i)
{
	struct buf target = BUF_INIT(FILE_PATH_MAX);
	bool found = false;
	size_t k = 0;
	int r = 0;

	for (k = 0; doctor_files[i].paths[k] && !found && !r; k++) {
		struct probe_stat st = {0};

		r = probe_path(
			&d->engine, id, str_c(doctor_files[i].paths[k]), &st, &target);
		found = st.kind != PROBE_ABSENT;
		buf_reset(&target);
	}
	if (!r && found)
		doctor_report(d, LEVEL_OK, doctor_files[i].about, NULL, "%s",
			doctor_files[i].paths[k - 1]);
	else if (!r && strcmp(doctor_files[i].about, "python") == 0 &&
		doctor_has_python_plugin(d))
		doctor_report(
			d, LEVEL_OK, doctor_files[i].about, NULL, "in the plugin python");
	else if (!r)
		doctor_report(d, LEVEL_NOTE, doctor_files[i].about,
			doctor_files[i].missing, "none");
	buf_free(&target);
	return r;
}

static void doctor_check_shell(
	struct doctor *d, struct image *im, const struct probe *seen)
{
	struct program busybox = {0};
	char arch[32];
	int r;

	if (seen->shell) {
		doctor_report(d, LEVEL_OK, "shell", NULL, "the image has one");
		return;
	}
	snprintf(arch, sizeof(arch), "%.*s", STR_ARG(im->arch));
	r = d->client->no_busybox
		? 1
		: program_find_busybox(&busybox, d->client->busybox, arch);
	if (r)
		doctor_report(d, LEVEL_PROBLEM, "shell",
			"give a static busybox with --busybox",
			"the image has no shell that every user can execute, and no "
			"busybox was found to add");
	else
		doctor_report(d, LEVEL_NOTE, "shell",
			"run and build add a static busybox",
			"the image has no shell that every user can execute");
	program_free(&busybox);
}

/*
 * Examines files in the given container, or in one that is made for this and never runs.
 */
static int doctor_check_files(struct doctor *d, struct image *im, const char *container)
{
	struct buf id = BUF_INIT(256);
	struct probe seen = {0};
	int r = 0;

	if (!container)
		r = probe_open(&d->engine, im->id, NULL, &id);
	if (!r && !container)
		container = id.p;
	if (!r)
		r = probe_container(&d->engine, container, &seen);
	if (!r)
		doctor_check_shell(d, im, &seen);
	if (!r && seen.od != PROBE_ABSENT && seen.od != PROBE_FOLDER)
		doctor_report(d, LEVEL_PROBLEM, "/.od", "choose another image",
			"it is not a directory");
	for (size_t i = 0; i < ARRAY_LEN(doctor_files) && !r; i++)
		r = doctor_check_file(d, container, i);
	probe_close(&d->engine, &id);
	return r;
}

static int doctor_check_image(struct doctor *d, const char *name, const char *container)
{
	struct image im = {0};
	int r = plan_inspect(&d->engine, name, &im);

	if (r == 1) {
		doctor_report(d, LEVEL_PROBLEM, "image",
			"docker pull fetches it; od-runtime run does so too",
			"the engine has no image %s", name);
		return 0;
	}
	if (r)
		return r;
	doctor_check_config(d, &im);
	doctor_check_client(d, &im);
	if (str_eq(im.os, STR("linux")))
		r = doctor_check_files(d, &im, container);
	image_free(&im);
	return r;
}

/* --- A sandbox ------------------------------------------------------------------- */

static int doctor_check_sandbox(struct doctor *d, const char *name, bool ours)
{
	struct sandbox s;
	int r;

	if (!ours) {
		doctor_report(d, LEVEL_NOTE, "container",
			"od-runtime inject adds the client to it",
			"it is a container, but not a sandbox");
		return 0;
	}
	r = sandbox_find(&d->engine, name, &s);
	if (r)
		return r < 0 ? r : 0;
	if (!s.running)
		doctor_report(d, LEVEL_PROBLEM, "sandbox",
			"od-runtime logs shows why; od-runtime start starts it",
			"it is not running");
	else if (s.paused)
		doctor_report(d, LEVEL_NOTE, "sandbox", "od-runtime resume continues it",
			"it is paused");
	else if (s.port)
		doctor_report(d, LEVEL_OK, "sandbox", NULL,
			"running, at port %u of 127.0.0.1", s.port);
	else
		doctor_report(d, LEVEL_OK, "sandbox", NULL,
			"running without a port; it is reached through the engine");
	if (s.running && !s.paused) {
		if (sandbox_check_alive(&s, INJECT_ALIVE_MS) == 0)
			doctor_report(d, LEVEL_OK, "server", NULL, "answers");
		else
			doctor_report(d, LEVEL_PROBLEM, "server",
				"od-runtime logs shows the log of the server",
				"does not answer");
	}
	if (state_load(s.state.name, &s.state))
		doctor_report(d, LEVEL_PROBLEM, "key",
			"use the sandbox as the user who created it",
			"this user does not have the key of the sandbox");
	else
		doctor_report(d, LEVEL_OK, "key", NULL, "this user has the key");
	state_wipe_key(&s.state);
	return 0;
}

static bool doctor_is_sandbox(struct json_doc *doc, const char *name)
{
	struct json_val config = json_get(json_doc_root(doc), "Config");
	bool marked =
		sandbox_label_is_set(doc, json_get(config, "Labels"), SANDBOX_LABEL_MARK);
	struct state known;
	bool injected = !marked && state_load(name, &known) == 0;

	if (injected)
		state_wipe_key(&known);
	return injected || marked;
}

/* The name is a sandbox or an image; sandboxes are looked up first. */
static int doctor_check_operand(struct doctor *d, const char *name)
{
	struct buf image = BUF_INIT(256), id = BUF_INIT(256);
	const char *why, *text;
	struct reply reply;
	struct ref ref;
	struct json_doc doc;
	bool ours = false;
	int r = 1;

	reply_init(&reply);
	if (state_is_name(str_c(name)))
		r = engine_request(&d->engine, &reply, "GET", (struct str){0},
			"/containers/%s/json", name);
	if (!r && (reply.status != 200 || json_doc_parse(&doc, buf_view(&reply.body)))) {
		r = 1;
	} else if (!r) {
		buf_str(&image,
			json_doc_str(&doc, json_get(json_doc_root(&doc), "Image")));
		buf_str(&id, json_doc_str(&doc, json_get(json_doc_root(&doc), "Id")));
		ours = doctor_is_sandbox(&doc, name);
		json_doc_free(&doc);
	}
	reply_free(&reply);
	text = image.n ? buf_cstr(&image) : NULL;
	if (r == 0)
		r = doctor_check_sandbox(d, name, ours);
	else if (r == 1 && ref_parse(&ref, str_c(name), &why))
		r = out_fail_usage("od-runtime ps lists sandboxes",
			"'%s' is neither an image nor a sandbox: %s", name, why);
	else if (r == 1)
		r = doctor_check_image(d, name, NULL);
	if (!r && text)
		r = doctor_check_image(d, text, buf_cstr(&id));
	buf_free(&image);
	buf_free(&id);
	return r;
}

static int cmd_doctor(const struct command_line *line)
{
	const struct doctor_options *o = line->options;
	struct doctor d = {.client = &o->client,
		.json = line->json,
		.out = BUF_INIT(INJECT_TEXT_MAX)};
	int r = engine_open(&d.engine, line->host);

	jw_init(&d.w, &d.out);
	if (line->json) {
		jw_object(&d.w);
		jw_key(&d.w, "findings");
		jw_array(&d.w);
	}
	if (!r)
		r = plugins_read(&d.plugins, &o->plugin);
	if (!r)
		r = doctor_check_engine(&d);
	if (!r)
		doctor_check_embedded(&d);
	if (!r && line->operand_n)
		r = doctor_check_operand(&d, line->operand[0]);
	if (!r && line->json) {
		jw_end(&d.w);
		jw_key(&d.w, "problems");
		jw_uint(&d.w, d.problems);
		jw_end(&d.w);
		buf_putc(&d.out, '\n');
	}
	if (!r)
		r = out_write_buf(&d.out);
	buf_free(&d.out);
	plugins_free(&d.plugins);
	return r ? r : d.problems ? EXIT_ENVIRONMENT : EXIT_DONE;
}

#define OPTIONS struct doctor_options
static const struct option doctor_options[] = {
	{SET(client_set, client)},
	{"plugin", "NAME[=DIR|IMAGE]", "include the files of plugin NAME, as build does",
		LIST(plugin.plugins), SEEN(plugin.source_optional),
		EXAMPLE("hello=./hello"), GROUP(CLIENT)},
	{0},
};
#undef OPTIONS

const struct command command_doctor = {
	.name = "doctor",
	.usage = "[IMAGE|SANDBOX] [OPTION...]",
	.purpose = "check the engine, and an image or a sandbox, for missing parts",
	.more = "It reports what is present, what is missing and the "
		"consequences.",
	.examples = {"od-runtime doctor", "od-runtime doctor debian:12"},
	.operands = 1,
	.last_optional = true,
	.subject = SUBJECT_ANY,
	.options = doctor_options,
	.options_size = sizeof(struct doctor_options),
	.run = cmd_doctor,
};
