/* The reference backend as a command. */
#include "inject/cli/commands.h"

#include "base/fd.h"
#include "inject/console/out.h"
#include "inject/control/listen.h"
#include "inject/names/listen_secret.h"
#include "inject/options/options_rows.h"
#include "limits.h"
#include "net/tls_credentials.h"
#include "net/tls_trust.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct listen_options {
	const char *address, *token, *tls_cert, *tls_key, *tls_client_ca;
	bool no_token;
};

struct listen {
	struct loop *loop;
	struct hub *hub;
	struct tls_credentials *tls;
	struct buf secret;
	char address[64];
	uint16_t port;
};

/* Without a secret a sandbox can use another's name: an option must allow that. */
static int cmd_listen_load_secret(struct listen *l, const struct listen_options *o)
{
	if (o->token && o->no_token)
		return out_fail_usage("leave out one of the two",
			"--token and --no-token cannot be combined");
	if (o->token)
		return listen_secret_load("--token", o->token, &l->secret);
	if (!o->no_token)
		return out_fail_usage("create a secret (openssl rand -hex 32 >FILE), or "
				      "accept the risk with --no-token",
			"--token FILE is missing: without a secret, every program that "
			"can connect to the backend can pretend to be any sandbox");
	out_note("warning: --no-token: every program that can connect to the backend can "
		 "pretend to be any sandbox");
	return 0;
}

static int cmd_listen_load_clients(struct listen *l, const char *path)
{
	struct buf text = BUF_INIT(AUTHORITIES_FILE_MAX);
	struct tls_trust *clients;
	const char *why;
	int r = listen_file_read("--tls-client-ca", path, &text);

	if (!r && tls_trust_new(buf_view(&text), NULL, &why, &clients))
		r = out_fail("give a file with the certificates of authorities (PEM)",
			"--tls-client-ca %s: %s", path, why);
	else if (!r)
		tls_credentials_demand(l->tls, clients);
	buf_free(&text);
	return r;
}

static int cmd_listen_load_tls(struct listen *l, const struct listen_options *o)
{
	struct buf chain = BUF_INIT(TLS_PEM_MAX), key = BUF_SECRET(TLS_PEM_MAX);
	const char *why = "out of memory";
	int r = 0;

	if (!o->tls_cert != !o->tls_key)
		return out_fail_usage(
			"give both options", "--tls-cert and --tls-key need each other");
	if (o->tls_client_ca && !o->tls_cert)
		return out_fail_usage("give --tls-cert and --tls-key too",
			"--tls-client-ca needs --tls-cert");
	if (!o->tls_cert)
		return 0;
	r = listen_file_read("--tls-cert", o->tls_cert, &chain);
	if (!r)
		r = listen_file_read("--tls-key", o->tls_key, &key);
	if (!r && tls_credentials_new(buf_view(&chain), buf_view(&key), &why, &l->tls))
		r = out_fail("give a certificate chain and its private key (PEM)",
			"--tls-cert %s --tls-key %s: %s", o->tls_cert, o->tls_key, why);
	buf_free(&chain);
	buf_free(&key);
	return r || !o->tls_client_ca ? r : cmd_listen_load_clients(l, o->tls_client_ca);
}

static int cmd_listen_parse_address(struct listen *l, const char *text)
{
	struct str s = str_c(text ? text : "127.0.0.1:8787"), host = s;
	uint64_t port = 0;

	while (host.n && host.p[host.n - 1] != ':')
		host.n--;
	s = str_skip(s, host.n);
	host.n -= host.n > 0;
	if (host.n > 1 && host.p[0] == '[' && host.p[host.n - 1] == ']')
		host = str_make(host.p + 1, host.n - 2);
	if (!host.n || host.n >= sizeof(l->address) || str_u64(s, 65535, &port))
		return out_fail_usage("give an address such as 127.0.0.1:8787 or [::1]:0",
			"--address '%s' is not an IP address and a port", text);
	memcpy(l->address, host.p, host.n);
	l->port = (uint16_t)port;
	return 0;
}

/* Raises the limit of descriptors: each sandbox and each request needs a descriptor. */
static void cmd_listen_raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max < 8192 ? files.rlim_max : 8192;
		if (setrlimit(RLIMIT_NOFILE, &files) < 0)
			out_note("warning: the limit of open files is low, so that only "
				 "some sandboxes can connect: raise it with ulimit -n");
	}
}

/* The port of the socket, which the system has chosen if port 0 was given. */
static uint16_t cmd_listen_get_port(int fd, uint16_t given)
{
	struct sockaddr_in6 a = {0};
	socklen_t n = sizeof(a);

	/* The port is at the same offset in both address families. */
	return getsockname(fd, (struct sockaddr *)&a, &n) < 0 ? given
							      : ntohs(a.sin6_port);
}

static int cmd_listen_print_url(const struct listen *l)
{
	struct buf line = BUF_INIT(256);
	bool v6 = strchr(l->address, ':');

	buf_fmt(&line, "%s://%s%s%s:%u", l->tls ? "https" : "http", v6 ? "[" : "",
		l->address, v6 ? "]" : "", l->port);
	return out_write_line(&line);
}

static void cmd_listen_on_stop(void *arg, int signo)
{
	(void)signo;
	loop_stop(arg);
}

static int cmd_listen_open_hub(struct listen *l)
{
	struct hub_conf conf = {
		.loop = l->loop,
		.fd = fd_listen_tcp(l->address, l->port, LISTEN_BACKLOG),
		.tls = l->tls,
		.secret = str_trim(buf_view(&l->secret), " \t\r\n"),
	};
	int err;

	if (conf.fd < 0)
		return out_fail("choose another address or port with --address",
			"cannot listen on %s port %u: %s", l->address, l->port,
			err_text(conf.fd));
	l->port = cmd_listen_get_port(conf.fd, l->port);
	l->hub = hub_new(&conf, &err);
	if (!l->hub)
		return out_fail("choose another address or port with --address",
			"cannot listen: %s", err_text(err));
	return cmd_listen_print_url(l);
}

static int cmd_listen(const struct command_line *line)
{
	const struct listen_options *o = line->options;
	struct listen l = {.secret = BUF_SECRET(DIAL_TOKEN_MAX)};
	int err = 0, r = cmd_listen_parse_address(&l, o->address);

	if (!r)
		r = cmd_listen_load_tls(&l, o);
	if (!r)
		r = cmd_listen_load_secret(&l, o);
	if (!r) {
		cmd_listen_raise_limit();
		l.loop = loop_new(&err);
		r = err;
	}
	if (!r)
		r = loop_handle_signal(l.loop, SIGTERM, cmd_listen_on_stop, l.loop);
	if (!r)
		r = loop_handle_signal(l.loop, SIGINT, cmd_listen_on_stop, l.loop);
	if (!r)
		r = cmd_listen_open_hub(&l);
	if (!r)
		r = loop_run(l.loop);
	if (l.hub)
		hub_del(l.hub);
	if (l.loop)
		loop_del(l.loop);
	tls_credentials_del(l.tls);
	buf_free(&l.secret);
	return r;
}

#define OPTIONS struct listen_options
static const struct option listen_options[] = {
	{"address", "ADDRESS:PORT", "listen on ADDRESS:PORT; port 0 means a free port",
		TEXT, AT(address), DEFAULT("127.0.0.1:8787"), GROUP(NETWORK)},
	{"token", "FILE",
		"derive the tokens of sandboxes from the secret in FILE, at least 16 "
		"bytes that stay on this machine; \"openssl rand -hex 32\" prints a "
		"secret, and od-runtime token prints the tokens",
		TEXT, FILES, AT(token), GROUP(NETWORK)},
	{"no-token", NULL,
		"accept sandboxes without a token; the first sandbox that uses a name "
		"keeps it while it is connected",
		FLAG, AT(no_token), GROUP(NETWORK)},
	{"tls-cert", "FILE",
		"serve TLS 1.2 with the certificate chain in FILE (PEM); needs --tls-key",
		TEXT, FILES, AT(tls_cert), GROUP(NETWORK)},
	{"tls-key", "FILE", "use the private key in FILE (PEM) for --tls-cert", TEXT,
		FILES, AT(tls_key), GROUP(NETWORK)},
	{"tls-client-ca", "FILE",
		"accept only clients with a certificate of the authority in FILE (PEM)",
		TEXT, FILES, AT(tls_client_ca), GROUP(NETWORK)},
	{0},
};
#undef OPTIONS

const struct command command_listen = {
	.name = "listen",
	.usage = "[OPTION...]",
	.purpose = "run a backend to which sandboxes connect",
	.more = "It serves the API of each sandbox under /sandboxes/NAME/.",
	.examples = {"od-runtime listen --token secret",
		"od-runtime listen --token secret --address 10.0.0.1:8787"},
	.options = listen_options,
	.options_size = sizeof(struct listen_options),
	.run = cmd_listen,
};
