#include "server/files/viewer.h"

#include "base/atomic_file.h"
#include "base/fd.h"
#include "base/log.h"
#include "limits.h"
#include "server/files/transfer.h"
#include "server/files/viewer_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	VIEWER_CONNS_MAX = 64,   /* a browser opens six */
	VIEWER_BACKLOG = 64,     /* connections that may wait */
	VIEWER_POLICY_MAX = 512, /* bytes: two hashes and a few words */
};

static const char address[] = "127.0.0.1";

struct viewer {
	struct api *api;
	struct server *server;
	struct buf policy;
	uint16_t port;
};

static bool viewer_is_local_name(struct str host)
{
	host = str_cut(&host, ':');
	return str_eq_nocase(host, STR("localhost")) || str_eq(host, str_c(address));
}

/*
 * Refuses requests of other pages. A foreign page can reach this server by a host name of
 * its own that resolves to this address, which would be the same origin. Any page can
 * also send requests without reading the answers. The viewer's own pages do neither.
 */
static bool viewer_is_same_origin(const struct request *rq)
{
	static const struct str scheme = STR("http://");
	struct str host, origin;
	int r;

	if (request_header(rq, STR("host"), &host) != 0 || !viewer_is_local_name(host))
		return false;
	r = request_header(rq, STR("origin"), &origin);
	return r > 0 ||
		(r == 0 && str_starts(origin, scheme) &&
			str_eq_nocase(str_skip(origin, scheme.n), host));
}

static void viewer_fail(
	struct request *rq, unsigned status, const char *heading, struct str words)
{
	viewer_write_error(request_out(rq), heading, words);
	request_reply(rq, status, VIEWER_HTML);
}

static void viewer_start_page(struct viewer *v, struct request *rq)
{
	struct transfer_request ask = {
		.work = viewer_page_work, .quick = true, .aside = true};
	int r = request_query(rq, STR("path"), &ask.path);

	if (r == -ENOMEM)
		api_reply_nomem(rq);
	else if (r < 0)
		api_reply_invalid(rq, "query: a parameter is given twice or malformed");
	else if (r > 0)
		api_reply_invalid(rq, "query: \"path\" is required");
	else
		transfer_start(v->api, rq, &ask);
}

static void viewer_on_ready(struct request *rq)
{
	struct viewer *v = rq->user;

	if (!str_eq(rq->path, STR("/"))) {
		viewer_start_page(v, rq);
		return;
	}
	buf_puts(request_out(rq), "{\"status\":\"File viewer server is running\"}");
	request_reply(rq, 200, API_JSON);
}

static void viewer_on_head(void *arg, struct request *rq)
{
	static const struct request_ops request_ops = {.on_ready = viewer_on_ready};
	struct viewer *v = arg;

	rq->ops = &request_ops;
	rq->user = v;
	request_add_field(rq, STR("content-security-policy"), buf_view(&v->policy));
	request_add_field(rq, STR("x-content-type-options"), STR("nosniff"));
	request_add_field(rq, STR("cross-origin-resource-policy"), STR("same-origin"));
	request_add_field(rq, STR("referrer-policy"), STR("no-referrer"));
	request_add_field(rq, STR("cache-control"), STR("no-store"));
	if (!viewer_is_same_origin(rq)) {
		viewer_fail(rq, 403, "Access denied",
			STR("The file viewer accepts only requests of pages of "
			    "this host."));
	} else if (!str_eq(rq->path, STR("/")) && !str_eq(rq->path, STR("/view"))) {
		request_fail(rq, 404, STR("Not Found"));
	} else if (!str_eq(rq->method, STR("GET"))) {
		request_add_field(rq, STR("allow"), STR("GET"));
		request_fail(rq, 405, STR("Method Not Allowed"));
	}
}

/* Uses the first free port, so that it is the same after a restart. */
static int viewer_open_port(struct viewer *v, uint16_t main_port)
{
	int fd = -EADDRINUSE;

	for (uint32_t i = 1; i <= VIEWER_PORTS && fd == -EADDRINUSE; i++) {
		if (main_port + i > UINT16_MAX)
			break;
		v->port = (uint16_t)(main_port + i);
		fd = fd_listen_tcp(address, v->port, VIEWER_BACKLOG);
	}
	return fd < 0 ? fd : server_listen(v->server, fd, NULL);
}

/*
 * All users can write to /tmp. An existing file, such as a link to another place, is
 * replaced and not written through.
 */
static void viewer_write_url(const struct viewer *v)
{
	struct atomic_file_attr attr = {.mode = 0644, .uid = geteuid(), .gid = getegid()};
	char text[32];
	struct str url = {text, 0};
	int dir = fd_open("/tmp", O_PATH | O_DIRECTORY, 0);
	int r = dir;

	snprintf(text, sizeof(text), "http://localhost:%u", v->port);
	url.n = strlen(text);
	if (dir >= 0)
		r = atomic_file_write(dir, "oh-server-url", &attr, &url, 1, NULL);
	fd_close(&dir);
	if (r)
		log_warn("/tmp/oh-server-url cannot be written: %s", err_text(r));
	log_info("file viewer on %s", text);
}

struct viewer *viewer_new(struct api *api, int *err)
{
	static const struct server_ops ops = {.head = viewer_on_head};
	struct viewer *v = calloc(1, sizeof(*v));
	struct server_conf conf = {.ops = &ops, .arg = v, .conns_max = VIEWER_CONNS_MAX};

	if (!v) {
		*err = -ENOMEM;
		return NULL;
	}
	v->api = api;
	buf_init(&v->policy, VIEWER_POLICY_MAX);
	viewer_write_policy(&v->policy);
	*err = v->policy.err;
	if (!*err)
		v->server = server_new(api->box->loop, &conf, err);
	if (v->server)
		*err = viewer_open_port(v, api->box->config->port);
	if (*err) {
		viewer_del(v);
		return NULL;
	}
	viewer_write_url(v);
	return v;
}

void viewer_del(struct viewer *v)
{
	if (!v)
		return;
	server_del(v->server);
	buf_free(&v->policy);
	free(v);
}
