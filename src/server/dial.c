#include "server/dial.h"

#include "base/backoff.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include "codec/channel_frame.h"
#include "codec/http/url.h"
#include "limits.h"
#include "net/resolve.h"
#include "proc/job.h"
#include "server/credentials.h"
#include "server/stream/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	DIAL_RESOLVE_MS = 15000,   /* if all name servers are slow */
	DIAL_ADDRESSES_MAX = 2048, /* bytes of the addresses of one name, as text */
	DIAL_URL_MAX = 4096,       /* bytes of an address */
	DIAL_WHY_MAX = 256,        /* bytes of a reason in the log */
};

enum dial_state {
	DIAL_OFF,
	DIAL_PAUSE,   /* waits for the next attempt */
	DIAL_RESOLVE, /* a job resolves the name */
	DIAL_OPEN,    /* a connection exists or is being made */
	DIAL_STATES
};

struct dial {
	enum dial_state state;
	struct api *api;
	struct loop *loop;
	const char *unix_path; /* NULL: url is used */
	struct url url;
	struct buf host;   /* value of the field Host */
	struct buf fields; /* further fields of the request */
	struct tls_trust *trust;
	struct tls_credentials *own; /* client certificate; may be NULL */
	struct timer timer;
	struct job job;
	struct stream *stream;
	uint64_t pause; /* upper limit of the last pause; 0: reset */
	unsigned attempts;
	uint64_t since;            /* when the attempt began */
	char logged[DIAL_WHY_MAX]; /* reason of the last log message */
};

static timer_fn dial_on_timer;

static void dial_set_state(struct dial *d, enum dial_state to)
{
	static const bool legal[DIAL_STATES][DIAL_STATES] = {
		[DIAL_OFF] = {[DIAL_PAUSE] = true},
		[DIAL_PAUSE] = {[DIAL_RESOLVE] = true,
			[DIAL_OPEN] = true,
			[DIAL_PAUSE] = true,
			[DIAL_OFF] = true},
		[DIAL_RESOLVE] =
			{[DIAL_OPEN] = true, [DIAL_PAUSE] = true, [DIAL_OFF] = true},
		[DIAL_OPEN] = {[DIAL_PAUSE] = true, [DIAL_OFF] = true},
	};

	assert(legal[d->state][to]);
	d->state = to;
}

/*
 * A random pause from 0 to a limit that doubles. Many sandboxes that lose the same
 * backend do not reconnect at the same moment.
 */
static uint64_t dial_compute_pause(struct dial *d)
{
	uint32_t any;

	d->pause = backoff(d->pause, DIAL_PAUSE_MS, DIAL_PAUSE_MAX_MS);
	return random_bytes(&any, sizeof(any)) ? d->pause : any % (d->pause + 1);
}

/* A repeated error is logged once. */
static void dial_schedule_retry(struct dial *d, const char *why)
{
	char words[DIAL_WHY_MAX];

	snprintf(words, sizeof(words), "%s", why);
	if (strcmp(d->logged, words) != 0)
		log_warn("no connection to the backend: %s", words);
	snprintf(d->logged, sizeof(d->logged), "%s", words);
	dial_set_state(d, DIAL_PAUSE);
	timer_set(d->loop, &d->timer, dial_compute_pause(d), dial_on_timer);
}

/* --- The connection ------------------------------------------------------------- */

static void dial_on_stream_end(void *arg, unsigned code, const char *why)
{
	struct dial *d = arg;

	d->stream = NULL;
	if (d->state == DIAL_OFF)
		return;
	/* If a connection ends early or was never opened, the pauses grow. */
	if (loop_now(d->loop) - d->since >= WS_OPEN_MS + DIAL_STEADY_MS) {
		d->pause = 0;
		d->logged[0] = '\0';
	}
	if (code == STREAM_NAME_CONFLICT)
		why = "another sandbox is connected with the same name; choose another "
		      "--connect-id";
	else if (code == STREAM_FENCED)
		why = "a newer connection of this sandbox replaced it";
	dial_schedule_retry(d, why);
}

static int dial_make_transport(struct dial *d, int fd, struct transport *t)
{
	int r;

	if (!d->trust) {
		transport_plain(t, fd);
		return 0;
	}
	r = transport_tls_client(t, fd, d->trust, d->url.host);
	if (r)
		fd_close(&fd);
	return r;
}

/* Continues with a socket that is connected or connecting. fd may be an error. */
static void dial_begin_stream(struct dial *d, int fd)
{
	const struct ws_hand_params ask = {
		.host = d->unix_path ? STR("localhost") : buf_view(&d->host),
		.target = d->unix_path ? STR("/connect") : d->url.target,
		.fields = buf_view(&d->fields),
	};
	struct transport t;
	struct ws_conf conf;
	struct ws_conn *ws;
	int r = fd < 0 ? fd : dial_make_transport(d, fd, &t);

	if (r) {
		dial_schedule_retry(d, err_text(r));
		return;
	}
	d->stream = stream_new(d->api->streams, dial_on_stream_end, d);
	if (!d->stream) {
		transport_close(&t);
		dial_schedule_retry(d, "out of memory");
		return;
	}
	conf = stream_conf(d->stream);
	r = ws_conn_dial(d->loop, &t, &ask, &conf, &ws);
	if (r) {
		stream_del(d->stream);
		d->stream = NULL;
		dial_schedule_retry(d, err_text(r));
		return;
	}
	stream_begin(d->stream, ws);
	d->since = loop_now(d->loop);
	dial_set_state(d, DIAL_OPEN);
}

/* --- The name ------------------------------------------------------------------- */

/* Work of the job: writes the addresses, one per line. */
static int dial_resolve_name(void *arg, int in, int out)
{
	const struct dial *d = arg;
	struct dns_addresses found;
	char line[64];
	int r = resolve(d->url.host, fd_wait, &found);

	(void)in;
	for (size_t i = 0; !r && i < found.n; i++) {
		size_t n;

		dns_format_address(&found.at[i], line);
		n = strlen(line);
		line[n] = '\n';
		r = fd_write_all(out, line, n + 1);
	}
	return r;
}

/* Each attempt uses the next address. */
static void dial_on_resolved(struct job *j)
{
	struct dial *d = container_of(j, struct dial, job);
	struct str text = buf_view(&j->out), line = {0};
	size_t n = str_count(text, '\n');
	char address[64] = "";
	bool done = j->outcome == JOB_DONE && n;

	for (size_t i = 0; done && i <= d->attempts % n; i++)
		line = str_cut(&text, '\n');
	if (line.n && line.n < sizeof(address))
		memcpy(address, line.p, line.n);
	job_free(j);
	if (address[0])
		dial_begin_stream(d, fd_connect_tcp(address, d->url.port));
	else
		dial_schedule_retry(d, "its host name cannot be resolved");
}

static void dial_on_timer(struct timer *t)
{
	static const struct job_ops ops = {.done = dial_on_resolved};
	struct dial *d = container_of(t, struct dial, timer);
	const struct job_conf conf = {
		.ops = &ops,
		.work = dial_resolve_name,
		.arg = d,
		.ms = DIAL_RESOLVE_MS,
		.out_max = DIAL_ADDRESSES_MAX,
	};
	int r;

	d->attempts++;
	if (d->unix_path) {
		dial_begin_stream(d, fd_connect_unix(d->unix_path));
		return;
	}
	dial_set_state(d, DIAL_RESOLVE);
	r = job_start(&d->job, d->loop, &conf);
	if (r)
		dial_schedule_retry(d, err_text(r));
}

/* --- From the command line ------------------------------------------------------ */

/* Borrows text. */
static int dial_read_url(struct dial *d, const char *text)
{
	struct str s = str_c(text);

	if (str_starts(s, STR("unix:"))) {
		d->unix_path = text + 5;
		return d->unix_path[0] == '/' ? 0 : ERR_SYNTAX;
	}
	if (!str_starts(s, STR("ws://")) && !str_starts(s, STR("wss://")))
		return ERR_SYNTAX;
	if (s.n > DIAL_URL_MAX)
		return ERR_LIMIT;
	if (url_parse_ws(&d->url, s))
		return ERR_SYNTAX;
	url_put_host(&d->url, &d->host);
	return d->host.err;
}

static int dial_read_token(struct dial *d, const char *path)
{
	struct buf text = BUF_SECRET(DIAL_TOKEN_MAX);
	struct str token;
	int r = credentials_text("--connect-token", path, &text);

	token = str_trim(buf_view(&text), " \t\r\n");
	for (size_t i = 0; !r && i < token.n; i++)
		if ((unsigned char)token.p[i] <= ' ' || token.p[i] == 0x7f)
			r = ERR_SYNTAX;
	if (r == ERR_SYNTAX)
		log_error("--connect-token %s: the token contains a blank or a control "
			  "character",
			path);
	if (!r) {
		buf_puts(&d->fields, "Authorization: Bearer ");
		buf_str(&d->fields, token);
		buf_puts(&d->fields, "\r\n");
		r = d->fields.err;
	}
	buf_free(&text);
	return r;
}

static int dial_make_trust(struct dial *d, const struct config *c)
{
	static const char *const options[] = {"--connect-cert", "--connect-key"};
	int r = credentials_trust("--connect-ca", c->connect_ca,
		c->has_pin ? c->connect_pin : NULL, &d->trust);

	if (!r && c->connect_cert)
		r = credentials_pair(options,
			(const char *[]){c->connect_cert, c->connect_key}, &d->own);
	if (!r)
		tls_trust_prove(d->trust, d->own);
	return r;
}

int dial_new(struct api *api, struct dial **out)
{
	const struct config *c = api->box->config;
	struct dial *d;
	int r;

	*out = NULL;
	if (!c->connect)
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->api = api;
	d->loop = api->box->loop;
	buf_init(&d->host, DIAL_URL_MAX);
	d->fields = (struct buf)BUF_SECRET(DIAL_TOKEN_MAX + 64);
	r = dial_read_url(d, c->connect);
	if (r == ERR_SYNTAX || r == ERR_LIMIT)
		log_error("--connect %s: it must be ws://HOST..., wss://HOST... or "
			  "unix:/PATH",
			c->connect);
	if (!r && c->connect_token)
		r = dial_read_token(d, c->connect_token);
	if (!r && d->url.secure)
		r = dial_make_trust(d, c);
	if (r)
		dial_del(d);
	else
		*out = d;
	return r;
}

void dial_start(struct dial *d)
{
	if (!d || d->state != DIAL_OFF)
		return;
	dial_set_state(d, DIAL_PAUSE);
	dial_on_timer(&d->timer);
}

void dial_stop(struct dial *d)
{
	if (!d || d->state == DIAL_OFF)
		return;
	dial_set_state(d, DIAL_OFF);
	timer_cancel(d->loop, &d->timer);
	job_free(&d->job);
}

void dial_del(struct dial *d)
{
	if (!d)
		return;
	dial_stop(d);
	stream_del(d->stream);
	tls_trust_del(d->trust);
	tls_credentials_del(d->own);
	buf_free(&d->host);
	buf_free(&d->fields);
	free(d);
}
