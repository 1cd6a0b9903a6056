#include "proc/process/process_private.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char process_prefix[] = "proc:";

/* --- The fd store ---------------------------------------------------------- */

void process_store_name(const struct process *p, const char *part, char out[STORE_NAME])
{
	snprintf(out, STORE_NAME, "%s%s%s", process_prefix, p->id, part);
}

int process_store(const struct process *p, const char *part, int fd)
{
	char name[STORE_NAME];

	process_store_name(p, part, name);
	return store_put(p->all->conf->store, name, fd, *part ? 0 : p->record->pid);
}

void process_store_drop(const struct process *p, const char *part)
{
	char name[STORE_NAME];

	process_store_name(p, part, name);
	store_drop(p->all->conf->store, name);
}

/* --- The table ------------------------------------------------------------- */

struct processes *processes_new(const struct processes_conf *conf)
{
	struct processes *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	all->conf = conf;
	process_table_init(&all->table);
	return all;
}

void processes_stop(struct processes *all)
{
	all->stopping = true;
	LIST_EACH (struct process, p, &all->list, node)
		process_wake(p);
}

struct process *process_find_number(const struct processes *all, uint64_t number)
{
	LIST_EACH (struct process, p, &all->list, node)
		if (p->number == number)
			return p;
	return NULL;
}

static bool process_is_listed(const struct process *p)
{
	return p->record->state == PROCESS_RUNNING || p->record->state == PROCESS_EXITED;
}

struct process *process_find(const struct processes *all, struct str id)
{
	LIST_EACH (struct process, p, &all->list, node)
		if (process_is_listed(p) && str_eq(id, str_c(p->id)))
			return p;
	return NULL;
}

static struct process *process_shown_from(struct process *p)
{
	while (p && !process_is_listed(p))
		p = LIST_NEXT(p, struct process, node);
	return p;
}

struct process *process_first(const struct processes *all)
{
	return process_shown_from(LIST_FIRST(&all->list, struct process, node));
}

struct process *process_next(const struct process *p)
{
	return process_shown_from(LIST_NEXT(p, struct process, node));
}

/* --- One process ----------------------------------------------------------- */

/* Keeps the list in the order of the numbers. */
static void process_link(struct process *p)
{
	struct list *before = &p->all->list;

	LIST_EACH (struct process, older, &p->all->list, node)
		if (older->number <= p->number)
			before = &older->node;
	list_insert_after(before, &p->node);
}

struct process *process_new(struct processes *all, uint64_t number)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->all = all;
	p->number = number;
	p->record_fd = p->report.fd = p->report_io.fd = -1;
	p->in.io.fd = p->in.fd = p->in.stage[0] = p->in.stage[1] = -1;
	for (unsigned i = 0; i < PROCESS_OUTPUTS; i++) {
		p->out[i].process = p;
		p->out[i].fd = p->out[i].io.fd = p->out[i].spool.fd = -1;
	}
	snprintf(p->id, sizeof(p->id), "p%" PRIu64, number);
	process_link(p);
	return p;
}

static void process_free(struct later *later)
{
	free(container_of(later, struct process, later));
}

/* Releases everything but the memory, which the present batch may still use. */
static void process_release_all(struct process *p)
{
	struct loop *l = p->all->conf->loop;

	children_forget(&p->child);
	loop_remove(l, &p->report_io);
	spawn_report_close(&p->report);
	process_end_timers(p);
	process_sink_close(p);
	process_sources_free(p);
	timer_cancel(l, &p->wake);
	process_record_free(p);
	loop_defer_free(l, &p->later, process_free);
}

static void process_drop_all(struct process *p)
{
	static const char *const parts[] = {
		"", ":1", ":2", ":1s", ":2s", ":0", ":0r", ":0w"};

	process_sink_close(p);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		process_store_drop(p, parts[i]);
}

void process_del(struct process *p)
{
	if (!p->removed) {
		process_drop_all(p);
		list_remove(&p->node);
	}
	process_release_all(p);
}

enum process_key_state process_key_find(struct processes *all, struct str key,
	const uint8_t request[SHA256_LEN], struct process **p)
{
	uint64_t number;
	int r = process_table_find_key(&all->table, key, request, &number);

	if (r)
		return r < 0 ? PROCESS_KEY_MISMATCH : PROCESS_KEY_NEW;
	*p = process_find_number(all, number);
	return *p ? PROCESS_KEY_KNOWN : PROCESS_KEY_REMOVED;
}

void processes_del(struct processes *all)
{
	if (!all)
		return;
	LIST_EACH (struct process, p, &all->list, node) {
		list_remove(&p->node);
		process_release_all(p);
	}
	process_table_free(&all->table);
	free(all);
}

void process_enter(struct process *p, enum process_state to)
{
	static const bool legal[][PROCESS_FAILED + 1] = {
		[PROCESS_STARTING] = {[PROCESS_RUNNING] = true, [PROCESS_FAILED] = true},
		[PROCESS_RUNNING] = {[PROCESS_EXITED] = true, [PROCESS_FAILED] = true},
	};
	struct processes *all = p->all;

	assert(p->record->state < PROCESS_EXITED && legal[p->record->state][to]);
	p->record->state = to;
	if (to != PROCESS_RUNNING)
		all->running--;
	if (to == PROCESS_EXITED)
		all->exited++;
	if (to != PROCESS_FAILED && all->conf->on_change)
		all->conf->on_change(all->conf->arg, p);
	process_wake(p);
}

enum process_state process_state(const struct process *p)
{
	return p->record->state;
}

static const char *process_get_text(const struct process *p, uint32_t at)
{
	return p->record->text + at;
}

void process_info(const struct process *p, struct process_info *out)
{
	const struct process_record *r = p->record;

	*out = (struct process_info){
		.id = p->id,
		.tag = process_get_text(p, r->tag_at),
		.cwd = process_get_text(p, r->cwd_at),
		.user = process_get_text(p, r->user_at),
		.argv = r->argv_n ? r->text : "",
		.argv_n = r->argv_n,
		.argv_truncated = r->argv_truncated,
		.pid = r->pid,
		.pty = r->pty,
		.kill_on_disconnect = r->kill_on_disconnect,
		.wait_when_full = r->wait_when_full,
		.stops_sandbox = r->stops_sandbox,
		.started_at = r->started_at,
	};
}

enum process_reason process_failure(const struct process *p, const char **detail)
{
	*detail = p->detail;
	return p->reason;
}

const struct process_exit *process_get_exit(const struct process *p)
{
	return p->record->state == PROCESS_EXITED ? &p->exit : NULL;
}

/* --- Removal --------------------------------------------------------------- */

bool process_is_removed(const struct process *p)
{
	return p->removed || p->all->stopping;
}

void process_remove(struct process *p)
{
	assert(p->record->state == PROCESS_EXITED);
	if (p->removed)
		return;
	p->all->exited--;
	process_drop_all(p);
	list_remove(&p->node);
	p->removed = true;
	process_wake(p);
}

/*
 * The oldest exited process without followers; with seen, only processes whose exit a
 * client has received.
 */
static struct process *process_find_victim(struct processes *all, bool seen)
{
	LIST_EACH (struct process, p, &all->list, node)
		if (p->record->state == PROCESS_EXITED &&
			wait_queue_is_empty(&p->followers) && (p->seen || !seen))
			return p;
	return NULL;
}

void processes_evict(struct processes *all)
{
	while (all->exited > PROCESSES_EXITED) {
		struct process *p = process_find_victim(all, true);

		if (!p && all->exited > PROCESSES_UNREAD)
			p = process_find_victim(all, false);
		if (!p)
			return;
		process_remove(p);
	}
}

void process_set_seen(struct process *p)
{
	p->seen = p->record->state == PROCESS_EXITED;
}

/* --- Followers ------------------------------------------------------------- */

static void process_call_followers(struct timer *t)
{
	struct process *p = container_of(t, struct process, wake);

	wait_queue_wake_all(&p->followers);
	/* A process that failed to start is kept for its followers alone. */
	if (wait_queue_is_empty(&p->followers) &&
		(p->removed || p->record->state == PROCESS_FAILED))
		process_del(p);
}

void process_wake(struct process *p)
{
	if (!timer_is_armed(&p->wake))
		timer_set(p->all->conf->loop, &p->wake, 0, process_call_followers);
}

void process_follow(struct process *p, struct process_follower *f)
{
	for (unsigned i = 0; i < PROCESS_OUTPUTS; i++)
		f->released[i] = p->record->out[i].released;
	f->process = p;
	wait_queue_append(&p->followers, &f->waiter);
}

void process_unfollow(struct process_follower *f)
{
	struct process *p = f->process;

	if (!p)
		return;
	wait_queue_remove(&p->followers, &f->waiter);
	f->process = NULL;
	for (unsigned i = 0; i < PROCESS_OUTPUTS && f->releases; i++)
		process_release(p, i, NULL, p->record->out[i].released);
	if (wait_queue_is_empty(&p->followers))
		process_wake(p);
}
