/*
 * A shell whose signal handler jumps out of the C library may leave a lock of the
 * library locked, and hangs when it takes that lock again: busybox ash with glibc jumps
 * out of malloc. No key reaches the shell any more, and its command would never end.
 */
#include "shell/shell_private.h"

#include "base/log.h"

#include <signal.h>
#include <stdio.h>

static const char note_hung[] =
	"The shell hung in a lock of its own when it was interrupted, which is a defect "
	"of that shell, and was killed. The next command gets a new one in the same "
	"directory, without the variables and functions of the old one.";

static void look(struct timer *t);

static void look_in(struct shell *s, uint64_t ms)
{
	if (timer_set(s->loop, &s->hang.timer, ms, look) < 0)
		log_warn("shell %s: out of memory for a deadline", s->setup.name);
}

/* Kills the shell only: its background processes go on, as they do after "exit". */
static void replace(struct shell *s)
{
	log_warn("shell %s: it hangs in a lock of its own and is killed", s->setup.name);
	s->note = note_hung;
	s->verdict = 128 + SIGINT;
	kill(s->rec->pid, SIGKILL);
}

/* Before the command has started, the deadline of its start covers a hang. */
static bool hangs(const struct shell *s, char where[PEEK_WHERE])
{
	return s->rec->pid > 0 && s->rec->started && !shell_is_ending(s) &&
		shell_is_in_front(s) && peek_deadlock(s->rec->pid, s->setup.path, where);
}

/*
 * A single sighting may be chance: a hang counts if it is seen twice in the same place.
 */
static void look(struct timer *t)
{
	struct shell *s = container_of(t, struct shell, hang.timer);
	struct shell_hang *h = &s->hang;
	char where[PEEK_WHERE];

	if (!hangs(s, where)) {
		h->where[0] = '\0';
		h->pause *= 2;
		if (h->pause <= SHELL_HANG_MAX_MS)
			look_in(s, h->pause);
	} else if (strcmp(where, h->where) != 0) {
		memcpy(h->where, where, sizeof(where));
		look_in(s, SHELL_HANG_MS);
	} else {
		replace(s);
	}
}

void shell_expect_hang(struct shell *s)
{
	/* If a hang has been seen once, another key does not restart the check. */
	if (s->hang.timer.slot && s->hang.where[0])
		return;
	s->hang.where[0] = '\0';
	s->hang.pause = SHELL_HANG_MS;
	look_in(s, s->hang.pause);
}
