#include "inject/sandbox/tls_pin.h"

#include "inject/console/out.h"
#include "inject/engine/container_log.h"
#include "inject/engine/engine_time.h"
#include "limits.h"
#include "net/tls.h"
#include "net/tls_credentials.h"

#include <errno.h>
#include <stdio.h>

/* The time after which the log is read: output of earlier runs does not count. */
static void tls_pin_log_start(const struct state *s, char *out, size_t room)
{
	int64_t seconds;
	uint32_t nanos;

	out[0] = '\0';
	if (engine_time_read(str_c(s->ended), &seconds, &nanos) && seconds > 0)
		snprintf(out, room, "%lld.%09u", (long long)seconds, nanos);
}

int tls_pin_learn(const struct engine *e, struct sandbox *s)
{
	struct state *is = &s->state;
	char hex[SHA256_HEX], since[48];
	struct http_client c;
	int r;

	if (!is->tls || is->pinned)
		return 0;
	tls_pin_log_start(is, since, sizeof(since));
	/*
	 * Engines do not keep the order of stdout and stderr, so that only stderr is
	 * read.
	 */
	r = since[0] ? container_log_open(e, is->id, &c, "&since=%s", since)
		     : container_log_open(e, is->id, &c, "&tail=all");
	if (!r && c.head.status == 501)
		r = out_fail("leave --tls out, or configure a log driver that can be "
			     "read, such as json-file or local",
			"the engine cannot read the log of the sandbox %s, which "
			"contains the fingerprint of its TLS key",
			is->name);
	else if (!r)
		is->pinned = c.head.status == 200 &&
			container_log_find(&c, INJECT_ENGINE_MS, STR(TLS_PIN_IS), hex,
				sizeof(hex)) &&
			hex_decode(str_make(hex, sizeof(hex)), is->pin,
				sizeof(is->pin)) == 0;
	else if (r != -EINTR && r != -ENOMEM)
		r = 1;
	http_client_close(&c);
	return r ? r : !is->pinned;
}
