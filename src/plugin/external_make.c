/* Creates plugins with a process for plugin.c: those from folders, and built-in ones. */
#include "plugin/external_private.h"

#include "base/env.h"
#include "base/fd.h"
#include "fs/load.h"
#include "shell/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

/* The shell's environment, then the manifest's, then the variables of the channel. */
static int external_make_env(struct external *e)
{
	static const char *const more[] = {"OD_PLUGIN_FD=3", "OD_PLUGIN_PROTOCOL=1"};

	e->env = env_copy(
		e->box->shell_setup->env, PLUGIN_WORDS_MAX + ARRAY_LEN(more), &e->memory);
	if (!e->env)
		return -ENOMEM;
	for (const char **own = e->manifest.env; *own; own++)
		env_put(e->env, *own);
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		env_put(e->env, more[i]);
	return 0;
}

static int external_make_actions(struct external *e)
{
	size_t n = e->manifest.actions_n;
	const struct action **list = arena_array(&e->memory, n + 1, sizeof(*list));

	e->actions = arena_array(&e->memory, n + 1, sizeof(*e->actions));
	if (!list || !e->actions)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		e->actions[i] = (struct external_action){
			.action =
				{
					.name = e->manifest.actions[i],
					.start = external_run,
					.abandon = external_abandon,
				},
			.e = e,
		};
		list[i] = &e->actions[i].action;
	}
	e->plugin.actions = list;
	return 0;
}

static int external_make_routes(struct external *e)
{
	size_t n = e->manifest.routes_n;
	struct plugin_endpoint *routes = arena_array(&e->memory, n + 1, sizeof(*routes));

	if (!routes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct plugin_route *r = &e->manifest.routes[i];
		char path[sizeof("/plugins/") + PLUGIN_NAME_MAX + PLUGIN_PATH_MAX];

		snprintf(path, sizeof(path), "/plugins/%s%s", e->plugin.name, r->path);
		routes[i] = (struct plugin_endpoint){
			r->method, arena_cstr(&e->memory, str_c(path)), external_handle};
		if (!routes[i].path)
			return -ENOMEM;
	}
	e->plugin.routes = routes;
	return 0;
}

/* 0 with the text; 1: there is no manifest; -errno. */
static int external_read_manifest(const char *path, struct buf *text)
{
	struct stat st;
	int fd = load_open(AT_FDCWD, path, O_RDONLY, &st);
	int r;

	if (fd < 0)
		return fd == -ENOENT ? 1 : fd;
	r = load_read_part(fd, 0, text->max, text);
	if (!r && text->n > PLUGIN_MANIFEST_MAX)
		r = ERR_LIMIT;
	fd_close(&fd);
	return r;
}

/* Reads the manifest and fills e. 0, also if the manifest is bad; -ENOMEM. */
static int external_load(struct external *e)
{
	struct buf text = BUF_INIT(PLUGIN_MANIFEST_MAX + 1);
	struct buf why = BUF_INIT(PLUGIN_WHY_MAX * 4);
	char path[FILE_PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/plugin.json", e->dir);
	r = external_read_manifest(path, &text);
	if (r == 0) {
		r = plugin_manifest_read(&e->manifest, buf_view(&text),
			str_c(e->plugin.name), &e->memory, &why);
		if (r == 0)
			e->plugin.start = external_start;
	}
	if (r == 0)
		r = external_make_env(e);
	if (r == 0)
		r = external_make_actions(e);
	if (r == 0)
		r = external_make_routes(e);
	if (r < 0 && r != -ENOMEM) {
		buf_reset(&text);
		buf_fmt(&text, "%s: %s%.*s", path, r == ERR_SYNTAX ? "" : err_text(r),
			STR_ARG(buf_view(&why)));
		external_refuse(e, buf_cstr(&text) ? text.p : "out of memory");
	}
	buf_free(&text);
	buf_free(&why);
	return r == -ENOMEM ? r : 0;
}

static struct external *external_object_new(struct box *box)
{
	struct external *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	*e = (struct external){
		.plugin = {.drain = external_drain_calls,
			.stop = external_stop,
			.info = external_write_info},
		.box = box,
	};
	service_init(&e->service, &external_service, box->loop, PLUGIN_OUT_MAX);
	arena_init(&e->memory, PLUGIN_MEMORY_MAX);
	arena_init(&e->json, PLUGIN_JSON_MAX);
	return e;
}

struct external *external_new(struct box *box, const char *name)
{
	struct external *e = external_object_new(box);
	char dir[FILE_PATH_MAX];

	if (!e)
		return NULL;
	snprintf(dir, sizeof(dir), "%s/%s", box->config->plugin_dir, name);
	e->plugin.name = arena_cstr(&e->memory, str_c(name));
	e->dir = arena_cstr(&e->memory, str_c(dir));
	if (e->plugin.name && e->dir && external_load(e) == 0)
		return e;
	external_del(e);
	return NULL;
}

/* Copies a list into the arena, in the form of a manifest's lists. */
static const char **external_copy_list(struct external *e, const char *const *list)
{
	const char **copy;
	size_t n = 0;

	while (list[n])
		n++;
	copy = arena_array(&e->memory, n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++)
		copy[i] = list[i];
	return copy;
}

int external_builtin_start(struct plugin_instance *p, const struct external_builtin *own)
{
	static const char *const none[] = {NULL};
	struct external *e = external_object_new(p->box);

	if (!e)
		return -ENOMEM;
	e->builtin = own;
	e->plugin.name = p->plugin->name;
	e->dir = "/";
	e->manifest = (struct plugin_manifest){
		.argv = external_copy_list(e, own->argv),
		.env = external_copy_list(e, own->env),
		.needs = external_copy_list(e, none),
		.probe = external_copy_list(e, none),
		.ready_ms = PLUGIN_PROBE_MS,
		.call_ms = own->call_ms,
	};
	if (e->manifest.argv && e->manifest.env && e->manifest.needs &&
		e->manifest.probe && external_make_env(e) == 0) {
		external_begin(e, p);
		return 0;
	}
	external_del(e);
	return -ENOMEM;
}

void external_builtin_stop(struct plugin_instance *p)
{
	struct external *e = p->data;

	external_stop(p);
	external_del(e);
}

void external_del(struct external *e)
{
	if (!e)
		return;
	arena_reset(&e->memory);
	free(e);
}

const struct plugin *external_plugin(const struct external *e)
{
	return &e->plugin;
}

void external_refuse(struct external *e, const char *why)
{
	snprintf(e->missing, sizeof(e->missing), "%s", why);
	e->plugin.missing = e->missing;
	e->plugin.actions = NULL;
	e->plugin.routes = NULL;
}
