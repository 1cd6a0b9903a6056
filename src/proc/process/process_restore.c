/* Restores the processes of an earlier serve from the fd store. */
#include "proc/process/process_private.h"

#include "base/fd.h"
#include "base/log.h"

#include <errno.h>

static struct process *process_of_number(struct processes *all, uint64_t number)
{
	struct process *p = process_find_number(all, number);

	return p ? p : process_new(all, number);
}

/* The member for the descriptor of this part; NULL: there is no such part. */
static int *process_slot(struct process *p, struct str part)
{
	const struct {
		const char *part;
		int *fd;
	} slots[] = {
		{"", &p->record_fd},
		{"0", &p->in.fd},
		{"0r", &p->in.stage[0]},
		{"0w", &p->in.stage[1]},
		{"1", &p->out[0].fd},
		{"2", &p->out[1].fd},
		{"1s", &p->out[0].spool.fd},
		{"2s", &p->out[1].spool.fd},
	};

	for (size_t i = 0; i < ARRAY_LEN(slots); i++)
		if (str_eq(part, str_c(slots[i].part)))
			return slots[i].fd;
	return NULL;
}

bool processes_restore_fd(struct processes *all, const struct store_record *r, int fd)
{
	struct str rest = str_c(r->name), id;
	struct process *p = NULL;
	uint64_t number;
	int *slot;

	if (r->op != STORE_PUT || !str_starts(rest, str_c(process_prefix)))
		return false;
	rest = str_skip(rest, strlen(process_prefix));
	if (str_eq(rest, STR("table"))) {
		process_table_restore(&all->table, fd);
		return true;
	}
	id = str_cut(&rest, ':');
	if (id.n && id.p[0] == 'p' && str_u64(str_skip(id, 1), UINT64_MAX, &number) == 0)
		p = process_of_number(all, number);
	slot = p ? process_slot(p, rest) : NULL;
	if (!slot || *slot >= 0)
		return false;
	*slot = fd;
	if (rest.n == 0) {
		p->exited = r->exited;
		p->exit.status = r->status;
	}
	return true;
}

static void process_reopen_spool(struct process *p, unsigned no)
{
	struct process_spool *s = &p->out[no].spool;
	struct process_spool_meta *meta = &p->record->spool[no];
	int r = s->fd < 0 ? -ENOENT : process_spool_restore(s, meta, s->fd);

	if (r == 0) {
		p->all->output_bytes += process_spool_size(s);
		return;
	}
	log_warn("process %s: its output was lost in the crash of the server", p->id);
	memset(meta, 0, sizeof(*meta));
	p->record->out[no].open = false;
	if (process_spool_make(s, meta) < 0)
		log_warn("process %s: out of memory: its output cannot be restored",
			p->id);
}

static void process_restore_output(struct process *p, unsigned no)
{
	struct process_source *s = &p->out[no];
	int r = 0;

	process_reopen_spool(p, no);
	if (s->fd >= 0 && p->record->out[no].open)
		r = process_source_watch(p, no);
	if (s->fd >= 0 && (r < 0 || !p->record->out[no].open))
		process_source_close(p, no);
	if (s->fd < 0)
		p->record->out[no].open = false;
}

static void process_restore_stdin(struct process *p)
{
	struct process_sink *s = &p->in;
	int r = -ENOENT;

	if (p->record->pty && p->record->in.open && p->out[0].fd >= 0)
		s->fd = fd_dup(p->out[0].fd, 0);
	if (s->fd >= 0 && (p->record->pty || (s->stage[0] >= 0 && s->stage[1] >= 0)))
		r = process_sink_watch(p);
	if (r < 0)
		process_sink_close(p);
	else
		process_sink_restore(p);
}

/* False: there is no valid record, or its program was not executed. */
static bool process_check_record(struct process *p)
{
	struct process_record *r;

	if (p->record_fd < 0 || process_record_restore(p, p->record_fd) < 0)
		return false;
	r = p->record;
	if (r->state == PROCESS_FAILED || (r->state == PROCESS_STARTING && !r->released))
		return false;
	p->all->running += r->state != PROCESS_EXITED;
	p->all->exited += r->state == PROCESS_EXITED;
	return true;
}

static void process_restore_state(struct process *p)
{
	struct process_record *r = p->record;
	int status = p->exit.status;

	for (unsigned i = 0; i < process_outputs(p); i++)
		process_restore_output(p, i);
	if (r->state == PROCESS_STARTING)
		process_enter(p, PROCESS_RUNNING);
	if (r->state == PROCESS_EXITED) {
		process_sink_close(p);
		process_set_exit(p);
		return;
	}
	process_restore_stdin(p);
	if (p->exited) {
		process_on_child_exit(&p->child, status);
		return;
	}
	process_arm_timeout(p);
	if (r->killed)
		process_kill(p);
	process_await_owner(p);
}

void processes_restore(struct processes *all)
{
	LIST_EACH (struct process, p, &all->list, node) {
		if (process_check_record(p))
			continue;
		process_table_drop_key(&all->table, p->number);
		process_del(p);
	}
	LIST_EACH (struct process, p, &all->list, node)
		process_restore_state(p);
}
