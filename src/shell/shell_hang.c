/*
 * A shell whose signal handler jumps out of the C library may leave a lock of the
 * library locked, and hangs when it takes that lock again: busybox ash with glibc jumps
 * out of malloc. No key reaches the shell any more, and its command would never end.
 */
#include "shell/shell_private.h"

#include "base/log.h"

#include <signal.h>
#include <stdio.h>

enum {
	SHELL_HANG_MS = 200,      /* from an interrupt key to the check for a hang */
	SHELL_HANG_MAX_MS = 6400, /* SHELL_HANG_MS doubles up to this */
};

static const char note_hung[] =
	"The shell hung in a lock of its own when it was interrupted, which is a defect "
	"of that shell, and was killed. The next command gets a new one in the same "
	"directory, without the variables and functions of the old one.";

static void shell_hang_on_check(struct timer *t);

static void shell_hang_arm_check(struct shell *s, uint64_t ms)
{
	timer_set(s->loop, &s->hang.timer, ms, shell_hang_on_check);
}

/* Kills the shell only: its background processes go on, as they do after "exit". */
static void shell_hang_kill_shell(struct shell *s)
{
	log_warn("shell %s: it is blocked in a lock of its own and is killed",
		s->setup.name);
	s->note = note_hung;
	s->verdict = 128 + SIGINT;
	kill(s->rec->pid, SIGKILL);
}

/* Before the command has started, the deadline of its start covers a hang. */
static bool shell_hang_is_deadlock(const struct shell *s, char where[INSPECT_TEXT_MAX])
{
	return s->rec->pid > 0 && s->rec->started && !shell_is_ending(s) &&
		shell_is_foreground(s) &&
		inspect_is_deadlocked(s->rec->pid, s->setup.path, where);
}

/*
 * A single sighting may be chance: a hang counts if it is seen twice in the same place.
 */
static void shell_hang_on_check(struct timer *t)
{
	struct shell *s = container_of(t, struct shell, hang.timer);
	struct shell_hang *h = &s->hang;
	char where[INSPECT_TEXT_MAX];

	if (!shell_hang_is_deadlock(s, where)) {
		h->where[0] = '\0';
		h->pause *= 2;
		if (h->pause <= SHELL_HANG_MAX_MS)
			shell_hang_arm_check(s, h->pause);
	} else if (strcmp(where, h->where) != 0) {
		memcpy(h->where, where, sizeof(where));
		shell_hang_arm_check(s, SHELL_HANG_MS);
	} else {
		shell_hang_kill_shell(s);
	}
}

void shell_expect_hang(struct shell *s)
{
	/* If a hang has been seen once, another key does not restart the check. */
	if (timer_is_armed(&s->hang.timer) && s->hang.where[0])
		return;
	s->hang.where[0] = '\0';
	s->hang.pause = SHELL_HANG_MS;
	shell_hang_arm_check(s, s->hang.pause);
}
