/*
 * A shell session as actions see it: one request at a time has the shell, the
 * others wait in line.
 */
#ifndef ACT_SESSION_H
#define ACT_SESSION_H

#include "act/act.h"
#include "term/shell.h"

struct run;

/*
 * Makes the session and its shell, or takes over what the fd store gave back
 * (see shell_adopt). ready is called once, from the loop: err 0, or why there is
 * no shell; the session exists all the same and tries again at each command.
 */
typedef void session_ready_fn(void *arg, int err, const char *why);
struct session *session_new(
	struct box *box, const struct shell_setup *setup, int *err) MUST_USE;
void session_del(struct session *s);
/* The shell, for shell_adopt and shell_exited. */
struct shell *session_shell(struct session *s);
/* Starts the shell unless one has been taken over. */
void session_start(struct session *s, session_ready_fn *ready, void *arg);

/*
 * Gives r its turn, now or when those before it are answered; its act->done
 * follows, perhaps before this returns. ERR_LIMIT: too many are waiting.
 */
int session_run(struct session *s, struct run *r) MUST_USE;
/* Who asked has hung up: the command goes on, and who asks next gets its output. */
void session_abandon(struct run *r);
/* Answers the request that waits now, as a timeout would; for shutting down. */
void session_cut(struct session *s);

/* The directory against which relative paths are meant. */
struct str session_cwd(const struct session *s);

#endif
