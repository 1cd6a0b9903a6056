/*
 * Restores a session that an earlier process has left. Its terminal model is lost: a new
 * one is fed with the content of the spool, in steps, so that a long output delays no
 * other work. Meanwhile nothing reads from the pty: new output comes after the restored.
 */
#include "shell/shell_private.h"

#include "base/fd.h"
#include "base/log.h"

#include <signal.h>
#include <stdio.h>

enum {
	SHELL_PROBE_MS = 1000, /* a line that was typed has started by then */
	SHELL_RESTORE = 16384, /* bytes processed at once after a crash */
};

static const char note_again[] =
	"The server was restarted: this is the result of the command before, which may "
	"have been told already.";

bool shell_is_restoring(const struct shell *s)
{
	return s->restoring.under_way;
}

/* The gap may begin and end inside a sequence, a mark or a line. */
static void shell_adopt_feed_gap(struct shell *s, struct spool_gap gap)
{
	char words[128];
	int n = snprintf(words, sizeof(words),
		"\x18\r\n[%llu bytes of output were lost when the server was "
		"restarted]\r\n",
		(unsigned long long)(gap.to - gap.from));

	s->marks.matched = 0;
	shell_feed_all(s, str_make(words, (size_t)n));
}

/* Feeds the next part of the output: first the head, then the tail. */
static void shell_adopt_feed_next(struct shell *s)
{
	uint64_t told = s->rec->reported, from = s->restoring.at, at = from;
	struct spool_gap gap = spool_gap(&s->spool);
	struct str part = spool_get_bytes(&s->spool, at);
	bool shown = false;

	if (part.n > SHELL_RESTORE)
		part.n = SHELL_RESTORE;
	/* Stop where the last report stopped, to mark it as shown. */
	if (at < told && part.n > told - at)
		part.n = (size_t)(told - at);
	at += shell_feed(s, part, &shown);
	if (at == gap.from && at < gap.to) {
		shell_adopt_feed_gap(s, gap);
		at = gap.to;
	}
	if (from < told && told <= at)
		vt_update_mark(s->vt, &s->shown);
	s->restoring.at = at;
	/*
	 * A deadline waits for new output: it must not pass before all old output is
	 * shown.
	 */
	if (timer_is_armed(&s->timer))
		shell_arm(s, SHELL_KEY_MS, s->timer.fn);
}

/* The shell has ended, or it is unknown how far its start had come. */
static void shell_adopt_drop_shell(struct shell *s)
{
	struct shell_record *rec = s->rec;

	shell_kill(s);
	rec->pid = 0;
	rec->ended = true;
	shell_close_pty(s);
	if (rec->state == SHELL_RUNNING)
		shell_finish(s);
	else if (rec->state == SHELL_IDLE || rec->state == SHELL_STARTING)
		shell_set_state(s, SHELL_NONE);
}

/* Goes on in the state in which the earlier process was killed. */
static void shell_adopt_resume(struct shell *s)
{
	struct shell_record *rec = s->rec;

	if (s->master >= 0 && shell_watch(s) < 0)
		log_warn("shell %s: the event loop does not accept its terminal, so the "
			 "shell is lost",
			s->setup.name);
	if (s->io.fd < 0)
		shell_adopt_drop_shell(s);
	else if (s->typed.n)
		loop_set_events(s->loop, &s->io, EPOLLIN | EPOLLOUT);
	if (rec->state == SHELL_IDLE)
		shell_remove_handover(s);
	/*
	 * The command was being passed to the shell: it is unknown whether its line was
	 * typed.
	 */
	if (rec->state == SHELL_RUNNING && !rec->started)
		shell_arm(s, SHELL_PROBE_MS, shell_probe);
}

static void shell_adopt_finish(struct shell *s)
{
	struct shell_restoring *r = &s->restoring;

	r->under_way = false;
	s->reported = s->rec->reported;
	shell_adopt_resume(s);
	if (r->exited)
		shell_exited(s, r->status);
	shell_notify_followers(s, false);
	s->ops.ready(s->arg, 0, NULL);
}

static void shell_adopt_on_step(struct timer *t)
{
	struct shell *s = container_of(t, struct shell, restoring.timer);

	if (s->restoring.at < spool_get_end(&s->spool))
		shell_adopt_feed_next(s);
	if (s->restoring.at < spool_get_end(&s->spool))
		timer_set(s->loop, t, 0, shell_adopt_on_step);
	else
		shell_adopt_finish(s);
}

void shell_restore_now(struct shell *s)
{
	if (!s->restoring.under_way)
		return;
	timer_cancel(s->loop, &s->restoring.timer);
	while (s->restoring.at < spool_get_end(&s->spool))
		shell_adopt_feed_next(s);
	shell_adopt_finish(s);
}

bool shell_claim(struct shell *s, struct str tag)
{
	struct shell_record *rec = s->rec;

	if ((rec->state != SHELL_RUNNING && rec->state != SHELL_DONE) ||
		!str_eq(tag, str_c(rec->tag)))
		return false;
	rec->reports = 0;
	rec->maybe_reported = false;
	if (s->note == note_again)
		s->note = NULL;
	return true;
}

/* Is there a command, or a shell at its prompt? */
static bool shell_adopt_has_state(const struct shell *s)
{
	enum shell_state state = s->rec->state;

	if (state == SHELL_IDLE)
		return s->master >= 0;
	return state != SHELL_NONE && state != SHELL_STARTING;
}

static void shell_adopt_restore(struct shell *s, const int *status)
{
	if (!shell_adopt_has_state(s)) {
		shell_adopt_drop_shell(s);
		return;
	}
	/* The answer may have been lost with the process that gave it. */
	if (s->rec->state == SHELL_REPORTED) {
		s->rec->maybe_reported = true;
		shell_set_state(s, SHELL_DONE);
	}
	if (s->rec->maybe_reported)
		s->note = note_again;
	s->restoring.under_way = true;
	if (status) {
		s->restoring.exited = true;
		s->restoring.status = *status;
	}
	shell_adopt_on_step(&s->restoring.timer);
}

int shell_adopt(struct shell *s, int master, pid_t pid, const int *status, int spool)
{
	struct spool old = {.fd = -1};
	int r = spool_adopt(&old, spool);

	if (r < 0) {
		fd_close(&master);
		fd_close(&spool);
		return r;
	}
	spool_free(&s->spool);
	s->spool = old;
	s->fed = spool_get_end(&old);
	s->rec = spool_get_state(&s->spool);
	if (!status && s->rec->exited)
		status = &s->rec->exit_status;
	s->rec->pid = status ? 0 : pid;
	mark_init(&s->marks, s->rec->nonce);
	vt_set_newline(s->vt, s->rec->no_tty);
	s->master = master;
	/* The server may have died during shell_end, which stops the shell. */
	if (s->rec->pid > 0)
		kill(s->rec->pid, SIGCONT);
	shell_adopt_restore(s, status);
	return 0;
}
