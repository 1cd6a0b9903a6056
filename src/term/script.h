/*
 * What is typed into shells: one line that prepares a new shell, one line per
 * command. Text only; src/term/shell.c does the typing.
 */
#ifndef TERM_SCRIPT_H
#define TERM_SCRIPT_H

#include "term/mark.h"
#include "term/shell.h"

/* Each line begins with it: a key, which only a terminal that collects lines heeds. */
#define SCRIPT_KILL_LINE "\025"

/*
 * Arguments after argv[0], NULL at the end. clean leaves start-up files out; tty:
 * the shell has a terminal; dev_tty: which /dev/tty leads to.
 */
const char *const *script_argv(enum shells_kind kind, bool clean, bool tty, bool dev_tty);

/*
 * The line that defines the shell's mark functions and then shows a prompt mark
 * with the given id. It keeps working whatever the start-up files have set. Marks
 * go to the terminal, or back to where the lines come from if there is none.
 * in_folder: ash first enters $OLDPWD and unsets it, since it was started in the folder
 * of tty_folder.h.
 */
void script_setup(struct buf *out, enum shells_kind kind, bool tty, bool in_folder,
	const char *nonce, const char *id);

/*
 * The same for a shell that is at a prompt, but shows none of ours: what it had of us
 * may be lost. The prompt mark tells its present $?.
 */
void script_setup_again(struct buf *out, enum shells_kind kind, bool tty,
	const char *nonce, const char *id);

/* Whether the shell has read the command's file when its start mark comes. */
bool script_reads_first(enum shells_kind kind);

/*
 * Whether script_submit can have the command typed: a short one without keys of
 * the terminal, for a shell that does the same with it then. Any other goes into a
 * file, or is typed only where no file can be made.
 */
bool script_can_type(enum shells_kind kind, struct str command);

/* Whether a terminal that collects lines hands the text on as it is. */
bool script_is_plain(struct str command);

/*
 * The line before a text that is typed in as it is; it has a prompt of its own. A
 * mark with the id tells that it was taken; status is what $? shall be then.
 */
void script_lead(struct buf *out, enum shells_kind kind, const char *id, int status);

/*
 * The lines that run the command, or the one in the file at path if path is not
 * empty; status is what $? shall be when it starts. Marks with the id tell its
 * start and its end.
 */
void script_submit(struct buf *out, enum shells_kind kind, struct str command,
	const char *path, const char *id, int status);

#endif
