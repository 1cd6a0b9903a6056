#include "server/restored.h"

#include "action/session.h"
#include "base/fd.h"
#include "base/log.h"
#include "limits.h"
#include "server/idempotency/idem.h"

enum restored_kind { RESTORED_NONE, RESTORED_PTY, RESTORED_SPOOL };

struct restored_entry {
	int fd; /* -1: taken */
	enum restored_kind kind;
	struct store_record record;
};

static struct restored_entry *restored_get_entry(const struct restored_state *k, size_t i)
{
	size_t n = k->entries.n / sizeof(struct restored_entry);

	return i < n ? (struct restored_entry *)(void *)k->entries.p + i : NULL;
}

/*
 * Records "pty:NAME" and "spool:NAME" belong to a session. *name points into the record.
 */
static enum restored_kind restored_parse_name(
	const struct store_record *r, struct str *name)
{
	struct str kind;

	*name = str_c(r->name);
	kind = str_cut(name, ':');
	if (!session_is_name(*name))
		return RESTORED_NONE;
	if (str_eq(kind, STR("pty")))
		return RESTORED_PTY;
	return str_eq(kind, STR("spool")) ? RESTORED_SPOOL : RESTORED_NONE;
}

int restored_load(struct restored_state *k, struct store *store,
	struct entrypoint *entrypoint, struct processes *processes)
{
	struct restored_entry e = {.fd = -1};
	int err;

	k->listener = k->ledger = k->tls = k->outputs = -1;
	buf_init(&k->entries, 2 * SESSIONS_MAX * sizeof(e));
	while ((err = store_wait_next(store, &e.record, &e.fd)) == 0 &&
		e.record.op != STORE_END) {
		struct str name;

		e.kind = restored_parse_name(&e.record, &name);
		entrypoint_restore(entrypoint, &e.record);
		if (processes_restore_fd(processes, &e.record, e.fd))
			continue;
		if (e.record.op == STORE_PUT && !strcmp(e.record.name, RESTORED_LISTENER))
			k->listener = e.fd;
		else if (e.record.op == STORE_PUT &&
			!strcmp(e.record.name, RESTORED_LEDGER))
			k->ledger = e.fd;
		else if (e.record.op == STORE_PUT && !strcmp(e.record.name, RESTORED_TLS))
			k->tls = e.fd;
		else if (e.record.op == STORE_PUT &&
			!strcmp(e.record.name, RESTORED_OUTPUTS))
			k->outputs = e.fd;
		else if (e.record.op == STORE_PUT && e.kind != RESTORED_NONE)
			buf_put(&k->entries, &e, sizeof(e));
		else
			fd_close(&e.fd);
	}
	return err < 0 ? err : k->entries.err;
}

bool restored_has_sessions(const struct restored_state *k)
{
	return k->entries.n > 0;
}

static struct restored_entry *restored_find_pty(
	const struct restored_state *k, struct str name)
{
	struct restored_entry *e;
	struct str other;

	for (size_t i = 0; (e = restored_get_entry(k, i)); i++)
		if (e->kind == RESTORED_PTY &&
			restored_parse_name(&e->record, &other) == RESTORED_PTY &&
			str_eq(name, other))
			return e;
	return NULL;
}

static void restored_adopt_session(
	const struct restored_state *k, struct box *box, struct restored_entry *spool)
{
	struct str name;
	struct restored_entry none = {.fd = -1};
	struct restored_entry *pty;
	struct session *s;
	int err;

	restored_parse_name(&spool->record, &name);
	pty = restored_find_pty(k, name);
	if (!pty)
		pty = &none;
	err = session_get(box, name, &s);
	if (err == 0) {
		err = shell_adopt(session_shell(s), pty->fd, pty->record.pid,
			pty->record.exited ? &pty->record.status : NULL, spool->fd);
		pty->fd = -1;
		spool->fd = -1;
	}
	if (err < 0)
		log_warn("the session %.*s was lost in the crash of the server: %s",
			STR_ARG(name), err_text(err));
}

static void restored_close_entries(struct restored_state *k)
{
	struct restored_entry *e;

	for (size_t i = 0; (e = restored_get_entry(k, i)); i++)
		fd_close(&e->fd);
	buf_free(&k->entries);
}

void restored_adopt(struct restored_state *k, struct box *box)
{
	struct restored_entry *e;

	for (size_t i = 0; (e = restored_get_entry(k, i)); i++)
		if (e->kind == RESTORED_SPOOL)
			restored_adopt_session(k, box, e);
	restored_close_entries(k);
}

void restored_free(struct restored_state *k)
{
	fd_close(&k->listener);
	fd_close(&k->ledger);
	fd_close(&k->tls);
	fd_close(&k->outputs);
	restored_close_entries(k);
}
