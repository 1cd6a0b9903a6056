#include "server/kept.h"

#include "action/session.h"
#include "base/fd.h"
#include "base/log.h"
#include "limits.h"
#include "server/idempotency/once.h"

enum kind { NO_KIND, PTY, SPOOL };

struct entry {
	int fd; /* -1: taken */
	enum kind kind;
	struct store_record record;
};

static struct entry *entry_at(const struct kept *k, size_t i)
{
	size_t n = k->entries.n / sizeof(struct entry);

	return i < n ? (struct entry *)(void *)k->entries.p + i : NULL;
}

/*
 * Records "pty:NAME" and "spool:NAME" belong to a session. *name points into the record.
 */
static enum kind kind_of(const struct store_record *r, struct str *name)
{
	struct str kind;

	*name = str_c(r->name);
	kind = str_cut(name, ':');
	if (!session_name_ok(*name))
		return NO_KIND;
	if (str_eq(kind, STR("pty")))
		return PTY;
	return str_eq(kind, STR("spool")) ? SPOOL : NO_KIND;
}

int kept_take(struct kept *k, struct store *store, struct entrypoint *entrypoint,
	struct processes *processes)
{
	struct entry e = {.fd = -1};
	int err;

	k->listener = k->ledger = k->tls = k->outputs = -1;
	buf_init(&k->entries, 2 * SESSIONS_MAX * sizeof(e));
	while ((err = store_take(store, &e.record, &e.fd)) == 0 &&
		e.record.op != STORE_END) {
		struct str name;

		e.kind = kind_of(&e.record, &name);
		entrypoint_kept(entrypoint, &e.record);
		if (processes_keep(processes, &e.record, e.fd))
			continue;
		if (e.record.op == STORE_PUT && !strcmp(e.record.name, KEPT_LISTENER))
			k->listener = e.fd;
		else if (e.record.op == STORE_PUT && !strcmp(e.record.name, KEPT_LEDGER))
			k->ledger = e.fd;
		else if (e.record.op == STORE_PUT && !strcmp(e.record.name, KEPT_TLS))
			k->tls = e.fd;
		else if (e.record.op == STORE_PUT && !strcmp(e.record.name, KEPT_OUTPUTS))
			k->outputs = e.fd;
		else if (e.record.op == STORE_PUT && e.kind != NO_KIND)
			buf_put(&k->entries, &e, sizeof(e));
		else
			fd_close(&e.fd);
	}
	return err < 0 ? err : k->entries.err;
}

bool kept_sessions(const struct kept *k)
{
	return k->entries.n > 0;
}

static struct entry *pty_of(const struct kept *k, struct str name)
{
	struct entry *e;
	struct str other;

	for (size_t i = 0; (e = entry_at(k, i)); i++)
		if (e->kind == PTY && kind_of(&e->record, &other) == PTY &&
			str_eq(name, other))
			return e;
	return NULL;
}

static void adopt(const struct kept *k, struct box *box, struct entry *spool)
{
	struct str name;
	struct entry none = {.fd = -1};
	struct entry *pty;
	struct session *s;
	int err;

	kind_of(&spool->record, &name);
	pty = pty_of(k, name);
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
		log_warn("the session %.*s of the last process is lost: %s",
			STR_ARG(name), err_text(err));
}

static void close_entries(struct kept *k)
{
	struct entry *e;

	for (size_t i = 0; (e = entry_at(k, i)); i++)
		fd_close(&e->fd);
	buf_free(&k->entries);
}

void kept_adopt(struct kept *k, struct box *box)
{
	struct entry *e;

	for (size_t i = 0; (e = entry_at(k, i)); i++)
		if (e->kind == SPOOL)
			adopt(k, box, e);
	close_entries(k);
}

void kept_free(struct kept *k)
{
	fd_close(&k->listener);
	fd_close(&k->ledger);
	fd_close(&k->tls);
	fd_close(&k->outputs);
	close_entries(k);
}
