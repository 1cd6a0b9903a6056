#include "inject/engine/remote_engine.h"

#include "base/fd.h"
#include "codec/http/url.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/http/certs.h"
#include "limits.h"
#include "net/resolve.h"
#include "net/tls_credentials.h"
#include "net/tls_trust.h"

#include <errno.h>
#include <stdlib.h>

#define REMOTE_ENGINE_PORT ":2376" /* Docker's port for TLS */

struct remote_engine {
	struct buf text; /* of the url */
	struct url url;
	char address[46];
	struct tls_trust *trust;
	struct tls_credentials *own; /* our certificate; may be NULL */
};

static struct remote_engine one;

static int remote_engine_wait_fd(int fd, short events, uint64_t deadline)
{
	return stop_wait(fd, events, deadline, false);
}

/* Reads docker's form of an address: the host and perhaps a port. */
static int remote_engine_read_url(struct remote_engine *f, const char *text)
{
	struct str host = str_c(text + strlen("tcp://")), last = host;
	bool port;

	/* A colon in brackets belongs to an address. */
	if (host.n && host.p[0] == '[')
		last = str_skip(host, str_find_byte(host, ']'));
	port = str_find_byte(last, ':') < last.n;
	buf_puts(&f->text, "https://");
	buf_str(&f->text, host);
	buf_puts(&f->text, port ? "" : REMOTE_ENGINE_PORT);
	if (f->text.err || str_find_byte(host, '/') < host.n ||
		url_parse(&f->url, buf_view(&f->text)))
		return out_fail_usage("give tcp://HOST:PORT",
			"'%s' is not the address of an engine", text);
	return 0;
}

static int remote_engine_resolve(struct remote_engine *f, const char *text)
{
	struct dns_addresses found;
	int r = resolve(f->url.host, remote_engine_wait_fd, &found);

	if (r == -EINTR)
		return r;
	if (r)
		return out_fail(
			"check the name, or give an IP address: tcp://10.0.0.5:2376",
			"the host name of the engine at %s cannot be resolved", text);
	dns_format_address(&found.at[0], f->address);
	return 0;
}

static void remote_engine_find_folder(struct buf *folder)
{
	const char *path = getenv("DOCKER_CERT_PATH"), *home = getenv("HOME");

	if (!path || !*path)
		path = getenv("DOCKER_CONFIG");
	if (path && *path)
		buf_puts(folder, path);
	else if (home && *home)
		buf_fmt(folder, "%s/.docker", home);
}

static int remote_engine_load_certs(struct remote_engine *f)
{
	static const struct certs_names names = {"ca.pem", "cert.pem", "key.pem"};
	struct buf folder = BUF_INIT(FILE_PATH_MAX), pem = BUF_INIT(AUTHORITIES_FILE_MAX);
	const char *why = "out of memory";
	int r;

	remote_engine_find_folder(&folder);
	r = certs_read_authority(&folder, &names, &pem);
	if (!r)
		r = certs_read_pair(&folder, &names, &f->own);
	if (!r && tls_trust_new(buf_view(&pem), NULL, &why, &f->trust))
		r = out_fail(
			"put ca.pem, cert.pem and key.pem there, or name their folder "
			"by DOCKER_CERT_PATH",
			"cannot use ca.pem in '%.*s': %s", STR_ARG(buf_view(&folder)),
			why);
	if (!r)
		tls_trust_prove(f->trust, f->own);
	buf_free(&pem);
	buf_free(&folder);
	return r;
}

int remote_engine_open(const char *text, const struct remote_engine **out)
{
	struct remote_engine *f = &one;
	int r;

	*f = (struct remote_engine){.text = BUF_INIT(512)};
	r = remote_engine_read_url(f, text);
	if (!r)
		r = remote_engine_load_certs(f);
	if (!r)
		r = remote_engine_resolve(f, text);
	if (!r)
		*out = f;
	return r;
}

int remote_engine_begin(
	const struct remote_engine *f, struct http_client *c, uint32_t idle_ms, bool calm)
{
	int fd = http_client_connect_to(f->address, f->url.port, INJECT_CONNECT_MS, calm);
	int r = fd < 0 ? fd
		       : http_client_begin_tls(c, fd, idle_ms, f->trust, f->url.host);

	if (!r)
		c->ignores_signals = calm;
	else if (fd >= 0)
		fd_close(&fd);
	return r;
}

void remote_engine_close(void)
{
	tls_trust_del(one.trust);
	tls_credentials_del(one.own);
	buf_free(&one.text);
	one = (struct remote_engine){0};
}
