/*
 * A shell session as actions see it: one request at a time has the shell, the
 * others wait in line. A box has several, each with a name; the first is called
 * SESSION_DEFAULT and stays as long as the box.
 */
#ifndef ACT_SESSION_H
#define ACT_SESSION_H

#include "act/act.h"
#include "proc/tree.h"
#include "term/shell.h"

#define SESSION_DEFAULT "default"

struct run;

/*
 * Letters, digits and "._-", SESSION_NAME_MAX of them at most; but not "." and
 * "..", which are no names in a path, and not "static", as runs of that kind are
 * called.
 */
bool session_name_ok(struct str name);
/* The session of that name; NULL when there is none. */
struct session *session_find(const struct box *box, struct str name);
/* The same, made if need be. ERR_LIMIT: there are SESSIONS_MAX. -errno. */
int session_get(struct box *box, struct str name, struct session **out) MUST_USE;
/* All of a box, one by one from box->session on; NULL at the end. */
struct session *session_next(const struct session *s);
const char *session_name(const struct session *s);

/*
 * Makes a session as the box's last, from box->shell_setup; its name is legal and
 * new. There is no shell yet: session_start, or a first command, or shell_adopt.
 */
struct session *session_new(struct box *box, struct str name, int *err) MUST_USE;
/* Nobody waits for it; what runs in it is killed. */
void session_del(struct session *s);
/* The shell, for shell_adopt and shell_exited. */
struct shell *session_shell(struct session *s);
/*
 * Starts the shell unless one has been taken over. ready is called once: err 0, or
 * why there is no shell; the session tries again at each command.
 */
typedef void session_ready_fn(void *arg, int err, const char *why);
void session_start(struct session *s, session_ready_fn *ready, void *arg);

/*
 * Gives r its turn, now or when those before it are answered; its act->done
 * follows, perhaps before this returns. ERR_LIMIT: too many are waiting.
 */
int session_run(struct session *s, struct run *r) MUST_USE;
/*
 * In a session that was taken over: r waits for the command that was submitted for its
 * id. ERR_CLOSED: there is none.
 */
int session_resume(struct session *s, struct run *r) MUST_USE;
/* Who asked has hung up: the command goes on, and who asks next gets its output. */
void session_abandon(struct run *r);
/* The same, and its command gets an interrupt key, if it is the one that runs. */
void session_cancel(struct run *r);
/* See act_stop; for a command that runs. */
int session_stop(struct run *r, enum act_stop how) MUST_USE;
/* Answers the request that waits now, as a timeout would; for shutting down. */
void session_cut(struct session *s);

/*
 * Ends all that runs in the session, see shell_end. The command that runs is
 * answered with its end, those in line are sent away. A session without a process is
 * deleted then, unless it is the first or somebody has come meanwhile, who gets a
 * fresh shell. Then ended is called, once, from the loop. -EALREADY; -ENOMEM.
 */
typedef void session_ended_fn(void *arg, const struct tree *report);
int session_end(struct session *s, session_ended_fn *ended, void *arg) MUST_USE;
/* It goes on, but nobody wants to know. */
void session_end_abandon(struct session *s);
bool session_is_ending(const struct session *s);

/*
 * The argument "session" of an action: a legal name, SESSION_DEFAULT when it is
 * absent, null or empty. False, and an error observed, when it is anything else.
 */
bool arg_session(struct act *a, struct str *name) MUST_USE;
/*
 * The directory that path is meant against: that of the session, if it is relative.
 * False, and an error observed, for such a path when there is no such session; a
 * directory of another would be a guess.
 */
bool arg_cwd(struct act *a, struct str path, struct str *cwd) MUST_USE;
struct str session_cwd(const struct session *s);

#endif
