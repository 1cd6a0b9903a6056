/*
 * The plugin for an editor in a browser: openvscode-server or code-server, found in the
 * image or installed by a plugin's folder, on the port VSCODE_PORT. The editor is ready
 * when it accepts connections at the port. It is given up after too many quick ends.
 */
#include "plugin/table.h"

#include "base/env.h"
#include "base/fd.h"
#include "base/hash.h"
#include "limits.h"
#include "proc/service.h"
#include "proc/which.h"
#include "shell/shell.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum {
	VSCODE_LOOK_MS = 100,  /* between two checks whether code-server listens */
	VSCODE_PAUSE_MS = 250, /* before a restart, doubling */
	VSCODE_PAUSE_MAX_MS = 4000,
	VSCODE_ENV_MAX = 1024, /* variables that code-server is given */
};

enum { UUID_TEXT = 37, PATH_MAX_HERE = 1024, WORD = 128, ARGS_MAX = 16 };

struct vscode {
	struct service service;
	struct plugin_instance *plug;
	char program[FILE_PATH_MAX];
	char token[UUID_TEXT];
	char base[PATH_MAX_HERE]; /* --server-base-path; or empty */
	uint16_t port;
	struct io probe;       /* a connection to its port */
	struct timer timer;    /* until the next probe */
	uint64_t started;      /* monotonic ms */
	unsigned failures;     /* quick ends in a row */
	char words[WORD];      /* the line that is being read */
	size_t words_n;        /* bytes in words */
	char last_words[WORD]; /* the last complete line that is not empty */
};

static struct loop *vscode_loop(const struct vscode *v)
{
	return v->plug->box->loop;
}

static bool vscode_is_given_up(const struct vscode *v)
{
	return v->failures == VSCODE_FAILURES_MAX;
}

/* --- The program ------------------------------------------------------------------ */

/* A program from the plugin's folder goes before those of the image. */
static bool vscode_find_program(const char *const *env, char out[FILE_PATH_MAX])
{
	static const char *const places[] = {
		"/.od/plugins/vscode/bin/openvscode-server",
		"/.od/plugins/vscode/bin/code-server",
		"/openhands/.openvscode-server/bin/openvscode-server",
		"/home/.openvscode-server/bin/openvscode-server",
		"/opt/openvscode-server/bin/openvscode-server",
		"/usr/lib/code-server/bin/code-server",
	};
	const char *path = env_value(env, "PATH");

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (which_is_program(places[i])) {
			snprintf(out, FILE_PATH_MAX, "%s", places[i]);
			return true;
		}
	return which_find("openvscode-server", path, out) == 0 ||
		which_find("code-server", path, out) == 0;
}

/*
 * If a gateway selects the sandbox by the first part of the path, the editor needs the
 * prefix of its own paths.
 */
static void vscode_find_base_path(const char *const *env, char out[PATH_MAX_HERE])
{
	struct str given = str_c(env_value(env, "OPENVSCODE_SERVER_BASE_PATH"));
	struct str id = str_c(env_value(env, "RUNTIME_ID"));
	struct str url = str_c(env_value(env, "RUNTIME_URL"));

	out[0] = '\0';
	given = str_trim(given, "/");
	if (given.n) {
		snprintf(out, PATH_MAX_HERE, "/%.*s", STR_ARG(given));
		return;
	}
	url = str_skip(url, str_find(url, STR("://")));
	url = str_skip(url, 3);
	str_cut(&url, '/');
	if (id.n && str_eq(str_cut(&url, '/'), id))
		snprintf(out, PATH_MAX_HERE, "/%.*s/vscode", STR_ARG(id));
}

/* A UUID of random bits, RFC 9562 section 5.4. */
static int vscode_make_token(char out[UUID_TEXT])
{
	uint8_t b[16];
	char hex[2 * sizeof(b) + 1];
	int r = random_bytes(b, sizeof(b));

	if (r < 0)
		return r;
	b[6] = (uint8_t)(0x40 | (b[6] & 0x0f));
	b[8] = (uint8_t)(0x80 | (b[8] & 0x3f));
	hex_encode(b, sizeof(b), hex);
	snprintf(out, UUID_TEXT, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12,
		hex + 16, hex + 20);
	return 0;
}

/* --- Output ----------------------------------------------------------------------- */

static void vscode_on_printed(struct service *s, struct str text)
{
	struct vscode *v = container_of(s, struct vscode, service);

	while (text.n) {
		char c = text.p[0];

		text = str_skip(text, 1);
		if (c != '\n' && v->words_n < sizeof(v->words) - 1) {
			v->words[v->words_n++] = c;
		} else if (c == '\n' && v->words_n) {
			v->words[v->words_n] = '\0';
			memcpy(v->last_words, v->words, v->words_n + 1);
			v->words_n = 0;
		}
	}
}

/* --- Check of the port ------------------------------------------------------------ */

static void vscode_on_probe(struct io *io, uint32_t events)
{
	struct vscode *v = container_of(io, struct vscode, probe);
	int r = fd_connect_result(io->fd);

	(void)events;
	loop_close(vscode_loop(v), io);
	if (r < 0 || v->service.state != SERVICE_STARTING)
		return;
	timer_cancel(vscode_loop(v), &v->timer);
	service_set_ready(&v->service);
	plugin_mark_ready(v->plug);
}

static const char *vscode_probe_address(const char *address)
{
	if (!strcmp(address, "0.0.0.0"))
		return "127.0.0.1";
	return strcmp(address, "::") ? address : "::1";
}

static void vscode_check_ready(struct timer *t)
{
	struct vscode *v = container_of(t, struct vscode, timer);
	int fd;

	loop_close(vscode_loop(v), &v->probe);
	fd = fd_connect_tcp(vscode_probe_address(v->plug->box->config->address), v->port);
	if (fd >= 0 &&
		loop_add(vscode_loop(v), &v->probe, fd, EPOLLOUT, vscode_on_probe) < 0)
		fd_close(&fd);
	timer_set(vscode_loop(v), t, VSCODE_LOOK_MS, vscode_check_ready);
}

/* --- The process ------------------------------------------------------------------ */

static void vscode_fail(struct vscode *v, const char *words)
{
	char why[PLUGIN_WHY_MAX];

	if (++v->failures < VSCODE_FAILURES_MAX)
		service_pause(&v->service);
	snprintf(why, sizeof(why), "%s%s",
		vscode_is_given_up(v)
			? "it ended after several starts and is not started again: "
			: "",
		words);
	plugin_mark_unavailable(v->plug, why);
}

static void vscode_stop_probe(struct vscode *v)
{
	timer_cancel(vscode_loop(v), &v->timer);
	loop_close(vscode_loop(v), &v->probe);
}

static void vscode_on_late(struct service *s)
{
	struct vscode *v = container_of(s, struct vscode, service);

	vscode_stop_probe(v);
	snprintf(v->last_words, sizeof(v->last_words), "no program listens on the port");
	service_kill(s, NULL);
}

static void vscode_on_exit(struct service *s, const char *failure, int status)
{
	struct vscode *v = container_of(s, struct vscode, service);
	char why[PLUGIN_WHY_MAX];

	vscode_stop_probe(v);
	vscode_on_printed(s, STR("\n"));
	if (failure)
		snprintf(why, sizeof(why), "%s", failure);
	else
		snprintf(why, sizeof(why), "it has ended (%s %d)%s%s",
			WIFSIGNALED(status) ? "signal" : "exit status",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
			v->last_words[0] ? ": " : "", v->last_words);
	if (loop_now(vscode_loop(v)) - v->started > VSCODE_STEADY_MS) {
		v->failures = 0;
		s->pause = 0;
	}
	vscode_fail(v, why);
}

static const char *const *vscode_make_coder_env(
	const char *const *env, const char *password, const char **room, size_t max)
{
	size_t n = 0;

	for (; *env && n + 2 < max; env++)
		if (strncmp(*env, "PASSWORD=", 9) != 0 &&
			strncmp(*env, "HASHED_PASSWORD=", 16) != 0)
			room[n++] = *env;
	room[n++] = password;
	room[n] = NULL;
	return room;
}

/* Both programs receive the address and the token, each by its own options. */
static int vscode_spawn(struct vscode *v)
{
	const struct box *box = v->plug->box;
	char place[WORD], port[16], password[WORD], cwd[FILE_PATH_MAX];
	bool coder = str_ends(str_c(v->program), STR("/code-server"));
	const char *address = box->config->address;
	const char *mine[VSCODE_ENV_MAX];
	const char *open[ARGS_MAX] = {v->program, "--host", address, "--connection-token",
		v->token, "--port", port, "--disable-workspace-trust",
		v->base[0] ? "--server-base-path" : NULL, v->base, NULL};
	const char *code[ARGS_MAX] = {v->program, "--bind-addr", place, "--auth",
		"password", "--disable-workspace-trust", "--disable-telemetry",
		"--disable-update-check", cwd, NULL};
	struct spawn sp = {
		.path = v->program,
		.argv = coder ? code : open,
		.env = box->shell_setup->env,
		.cwd = cwd,
		.tty = -1,
		.fds = {-1, -1, -1},
		.dies_with_parent = true,
		.orphans_leave = true,
		.user = box->shell_setup->user,
	};

	snprintf(port, sizeof(port), "%" PRIu16, v->port);
	snprintf(place, sizeof(place), strchr(address, ':') ? "[%s]:%s" : "%s:%s",
		address, port);
	snprintf(password, sizeof(password), "PASSWORD=%s", v->token);
	snprintf(cwd, sizeof(cwd), "%.*s", STR_ARG(act_box_cwd(box)));
	if (coder)
		sp.env = vscode_make_coder_env(sp.env, password, mine, ARRAY_LEN(mine));
	return service_start(&v->service, &sp, SERVICE_PRINTS, VSCODE_START_MS);
}

/*
 * Refuses a port in use: another server would be taken for the editor, and users would be
 * sent to it.
 */
static int vscode_check_port(const struct vscode *v)
{
	int fd = fd_listen_tcp(v->plug->box->config->address, v->port, 1);

	if (fd < 0)
		return fd;
	fd_close(&fd);
	return 0;
}

static void vscode_start_editor(struct service *s)
{
	struct vscode *v = container_of(s, struct vscode, service);
	char why[PLUGIN_WHY_MAX];
	int r = vscode_check_port(v);

	v->started = loop_now(vscode_loop(v));
	v->words_n = 0;
	v->last_words[0] = '\0';
	if (r < 0) {
		snprintf(why, sizeof(why), "port %" PRIu16 ": %s", v->port, err_text(r));
		vscode_fail(v, why);
		return;
	}
	r = vscode_spawn(v);
	if (r < 0) {
		snprintf(why, sizeof(why), "%.128s: %s", v->program, err_text(r));
		vscode_fail(v, why);
		return;
	}
	timer_set(vscode_loop(v), &v->timer, VSCODE_LOOK_MS, vscode_check_ready);
}

static const struct service_kind vscode_service = {
	.pause_ms = VSCODE_PAUSE_MS,
	.pause_max_ms = VSCODE_PAUSE_MAX_MS,
	.steady_ms = VSCODE_STEADY_MS,
	.late = vscode_on_late,
	.printed = vscode_on_printed,
	.exited = vscode_on_exit,
	.restart = vscode_start_editor,
};

/* --- The plugin ------------------------------------------------------------------- */

static void vscode_reply_token(struct plugin_instance *p, struct request *rq)
{
	const struct vscode *v = p->data;
	struct jw w;

	jw_init(&w, request_out(rq));
	jw_object(&w);
	jw_key(&w, "token");
	if (v && !vscode_is_given_up(v))
		jw_cstr(&w, v->token);
	else
		jw_null(&w);
	jw_end(&w);
	request_reply(rq, 200, "application/json");
}

static struct vscode *vscode_new(struct plugin_instance *p, uint16_t port)
{
	struct vscode *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	*v = (struct vscode){
		.plug = p,
		.port = port,
		.probe.fd = -1,
	};
	service_init(&v->service, &vscode_service, p->box->loop, 0);
	if (vscode_make_token(v->token) == 0)
		return v;
	free(v);
	return NULL;
}

static int vscode_start(struct plugin_instance *p)
{
	const char *const *env = p->box->shell_setup->env;
	struct str port = str_c(env_value(env, "VSCODE_PORT"));
	char program[FILE_PATH_MAX];
	struct vscode *v;
	uint64_t number;

	if (str_u64(port, UINT16_MAX, &number) < 0 || !number) {
		plugin_mark_unavailable(p,
			port.n ? "VSCODE_PORT is not a port number"
			       : "VSCODE_PORT is not set");
		return 0;
	}
	if (!vscode_find_program(env, program)) {
		plugin_mark_unavailable(
			p, "neither openvscode-server nor code-server was found");
		return 0;
	}
	v = vscode_new(p, (uint16_t)number);
	if (!v)
		return -ENOMEM;
	snprintf(v->program, sizeof(v->program), "%s", program);
	vscode_find_base_path(env, v->base);
	p->data = v;
	vscode_start_editor(&v->service);
	return 0;
}

static void vscode_stop(struct plugin_instance *p)
{
	struct vscode *v = p->data;

	p->data = NULL;
	vscode_stop_probe(v);
	service_forget(&v->service, true);
	free(v);
}

static void vscode_write_info(const struct plugin_instance *p, struct jw *w)
{
	const struct vscode *v = p->data;

	if (!v || !v->service.pid)
		return;
	jw_key(w, "program");
	jw_cstr(w, v->program);
	jw_key(w, "port");
	jw_uint(w, v->port);
	jw_key(w, "pid");
	jw_int(w, v->service.pid);
}

static const struct plugin_endpoint routes[] = {
	{"GET", "/vscode/connection_token", vscode_reply_token},
	{0},
};

const struct plugin plugin_vscode = {
	.name = "vscode",
	.start = vscode_start,
	.stop = vscode_stop,
	.info = vscode_write_info,
	.routes = routes,
};
