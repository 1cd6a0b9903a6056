/*
 * A shell session as actions see it: one request at a time has the shell, the others wait
 * in a queue. A sandbox has several sessions, each with a name. The first is called
 * SESSION_DEFAULT and lives as long as the sandbox.
 */
#ifndef ACTION_SESSION_H
#define ACTION_SESSION_H

#include "action/act.h"
#include "proc/tree.h"
#include "shell/shell.h"

#define SESSION_DEFAULT "default"

struct run;

/*
 * Letters, digits and "._-", at most SESSION_NAME_MAX of them. "." and ".." are refused
 * since they are no names in a path, "static" since static runs are called so.
 */
bool session_is_name(struct str name);
/* The session of that name; NULL when there is none. */
struct session *session_find(const struct box *box, struct str name);
/*
 * The session of that name, made if it does not exist. ERR_LIMIT: there are SESSIONS_MAX.
 * -errno.
 */
int session_get(struct box *box, struct str name, struct session **out) MUST_USE;
/* All sessions of a sandbox, starting with box->session; NULL at the end. */
struct session *session_next(const struct session *s);
const char *session_name(const struct session *s);

/*
 * Makes a session as the sandbox's last, from box->shell_setup; its name is legal and
 * new. There is no shell yet: session_start, a first command, or shell_adopt provides it.
 */
struct session *session_new(struct box *box, struct str name, int *err) MUST_USE;
/* For a session without requests; the processes in it are killed. */
void session_del(struct session *s);
/* The shell, for shell_adopt and shell_exited. */
struct shell *session_shell(struct session *s);
/*
 * Starts the shell unless one has been taken over. ready is called once: err is 0, or the
 * reason why there is no shell; the session tries again at each command.
 */
typedef void session_ready_fn(void *arg, int err, const char *why);
void session_start(struct session *s, session_ready_fn *ready, void *arg);

/*
 * Gives r its turn, now or after the earlier requests are answered; its act->done
 * follows, perhaps before this returns. ERR_LIMIT: too many are waiting.
 */
int session_run(struct session *s, struct run *r) MUST_USE;
/*
 * In a session that was taken over: r waits for the command that was submitted for its
 * id. ERR_CLOSED: there is none.
 */
int session_resume(struct session *s, struct run *r) MUST_USE;
/* The client has disconnected: the command goes on, the next request gets its output. */
void session_abandon(struct run *r);
/* As session_abandon; if r's command is running, it gets an interrupt key. */
void session_cancel(struct run *r);
/* See act_stop; for a command that runs. */
int session_stop(struct run *r, enum act_stop how) MUST_USE;
/* Answers the request that waits now, as a timeout would; for shutting down. */
void session_shut_down(struct session *s);

/*
 * Ends all processes in the session, see shell_end. The command that runs is answered
 * with its end, queued requests are refused. Then a session without a process is deleted,
 * unless it is the first or a new request has come meanwhile, which gets a fresh shell.
 * Then ended is called, once, from the loop. -EALREADY; -ENOMEM.
 */
typedef void session_ended_fn(void *arg, const struct tree *report);
int session_end(struct session *s, session_ended_fn *ended, void *arg) MUST_USE;
/* The end goes on, but ended will not be called. */
void session_end_abandon(struct session *s);
bool session_is_ending(const struct session *s);

/*
 * The argument "session" of an action: a legal name, SESSION_DEFAULT when it is
 * absent, null or empty. False, and an error observed, when it is anything else.
 */
bool session_parse_arg(struct act *a, struct str *name) MUST_USE;
/*
 * The directory that path is relative to: that of the session, if path is relative. If
 * there is no such session: false, and an error observed, since the directory of another
 * session would be a guess.
 */
bool session_parse_cwd(struct act *a, struct str path, struct str *cwd) MUST_USE;
struct str session_cwd(const struct session *s);

#endif
