#include "server/status.h"

#include "action/session.h"
#include "base/clock.h"
#include "server/idempotency/idem.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void status_put_uint(struct jw *w, const char *key, uint64_t value)
{
	jw_key(w, key);
	jw_uint(w, value);
}

static void status_put_cstr(struct jw *w, const char *key, const char *value)
{
	jw_key(w, key);
	jw_cstr(w, value);
}

static void status_put_bool(struct jw *w, const char *key, bool value)
{
	jw_key(w, key);
	jw_bool(w, value);
}

static void status_put_ledger(struct jw *w, const struct idem *o)
{
	const struct ledger *l = &o->ledger;

	status_put_cstr(w, "box", l->box);
	status_put_uint(w, "boot", l->boot);
	status_put_uint(w, "lease", l->lease);
	status_put_cstr(w, "durability",
		l->dir < 0        ? "memory"
			: l->sync ? "fsync"
				  : "file");
	jw_key(w, "events");
	jw_object(w);
	status_put_uint(w, "first", ledger_first_event(l));
	status_put_uint(w, "last", l->event);
	jw_end(w);
	jw_key(w, "actions");
	jw_object(w);
	status_put_uint(w, "open", l->open);
	status_put_uint(w, "kept", l->entries);
	jw_end(w);
}

/* The measures that protect the secrets and the server from programs of the sandbox. */
static void status_put_hardening(struct jw *w, const struct box *box)
{
	struct rlimit data = {0};

	jw_key(w, "hardening");
	jw_object(w);
	status_put_bool(w, "key", box->config->has_key);
	status_put_bool(w, "tls", box->config->tls_cert || box->config->tls_self);
	status_put_bool(w, "not_dumpable", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	status_put_bool(w, "own_user", box->user);
	status_put_bool(w, "memory_limit",
		getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY);
	jw_end(w);
}

/* The facilities that this system lacks, and their replacements. */
static void status_put_fallbacks(
	struct jw *w, const struct box *box, const struct idem *o)
{
	jw_key(w, "fallbacks");
	jw_object(w);
	if (box->config->state_dir && o->ledger.dir < 0)
		status_put_cstr(
			w, "state", "in memory: the folder for it cannot be used");
	if (box->store->sock < 0)
		status_put_cstr(w, "init", "none: a crash of the server ends the shells");
	if (box->session && shell_no_terminal(session_shell(box->session)))
		status_put_cstr(w, "terminal", "a socket in place of a terminal");
	if (access("/proc/self/stat", R_OK) < 0)
		status_put_cstr(w, "proc", "none: what leaves its session is not found");
	if (!box->shell_setup->path)
		status_put_cstr(w, "shell", "none: no command can be run");
	jw_end(w);
}

void status_get(struct api *api, struct request *rq, struct str name)
{
	struct jw w;

	(void)name;
	if (!idem_is_ready(api->idem, rq))
		return;
	jw_init(&w, request_out(rq));
	jw_object(&w);
	status_put_cstr(&w, "version", OD_VERSION);
	status_put_uint(&w, "uptime_ms", clock_ms() - api->started);
	status_put_ledger(&w, api->idem);
	status_put_hardening(&w, api->box);
	status_put_fallbacks(&w, api->box, api->idem);
	jw_end(&w);
	request_reply(rq, 200, API_JSON);
}
