/* Goes on with a session that an earlier process has left. */
#include "shell/shell_private.h"

#include "base/fd.h"
#include "base/log.h"

#include <signal.h>

enum { SHELL_PROBE_MS = 1000 }; /* a line that was typed has started by then */

static const char note_again[] =
	"The server was restarted: this is the result of the command before, which may "
	"have been told already.";

bool shell_is_restoring(const struct shell *s)
{
	return s->restore.under_way;
}

void shell_restore_now(struct shell *s)
{
	shell_restore_complete(&s->restore);
}

/* A deadline waits for new output: it must not pass before all old output is shown. */
static void shell_adopt_on_step(struct shell_restore *r)
{
	struct shell *s = container_of(r, struct shell, restore);

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

	if (s->tty.fd >= 0 && shell_tty_watch(&s->tty) < 0)
		log_warn("shell %s: the event loop does not accept its terminal, so the "
			 "shell is lost",
			s->setup.name);
	if (s->tty.io.fd < 0)
		shell_adopt_drop_shell(s);
	else if (s->tty.typed.n)
		loop_set_events(s->loop, &s->tty.io, EPOLLIN | EPOLLOUT);
	if (rec->state == SHELL_IDLE)
		shell_remove_handover(s);
	/*
	 * The command was being passed to the shell: it is unknown whether its line was
	 * typed.
	 */
	if (rec->state == SHELL_RUNNING && !rec->started)
		shell_arm(s, SHELL_PROBE_MS, shell_probe);
}

static void shell_adopt_on_done(struct shell_restore *r)
{
	struct shell *s = container_of(r, struct shell, restore);

	shell_adopt_resume(s);
	if (s->rec->exited)
		shell_exited(s, s->rec->exit_status);
	shell_notify_followers(s, false);
	s->ops.ready(s->arg, 0, NULL);
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
		return s->tty.fd >= 0;
	return state != SHELL_NONE && state != SHELL_STARTING;
}

static void shell_adopt_restore(struct shell *s, const int *status)
{
	static const struct shell_restore_ops ops = {
		shell_adopt_on_step, shell_adopt_on_done};

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
	if (status) {
		s->rec->exited = true;
		s->rec->exit_status = *status;
	}
	s->restore = (struct shell_restore){
		.loop = s->loop, .output = &s->output, .ops = &ops};
	shell_restore_begin(&s->restore, s->rec->reported);
}

int shell_adopt(struct shell *s, int master, pid_t pid, const int *status, int spool)
{
	int r = shell_output_adopt(&s->output, spool);
	struct shell_record *rec;

	if (r < 0) {
		fd_close(&master);
		fd_close(&spool);
		return r;
	}
	s->rec = rec = spool_get_state(&s->output.spool);
	if (!status && rec->exited)
		status = &rec->exit_status;
	rec->pid = status ? 0 : pid;
	shell_output_set_nonce(&s->output, rec->nonce);
	vt_set_newline(s->output.vt, rec->no_pty);
	s->tty.fd = master;
	s->tty.no_pty = rec->no_pty;
	s->tty.poor = rec->poor_tty;
	/* The server may have died during shell_end, which stops the shell. */
	if (rec->pid > 0)
		kill(rec->pid, SIGCONT);
	shell_adopt_restore(s, status);
	return 0;
}
