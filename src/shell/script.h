/*
 * The text that is typed into shells: one line that prepares a new shell, one line per
 * command. This module makes the text only; src/shell/shell.c does the typing.
 */
#ifndef SHELL_SCRIPT_H
#define SHELL_SCRIPT_H

#include "codec/mark.h"
#include "shell/shell.h"

/* The key at the start of each line, which only a terminal in canonical mode handles. */
#define SCRIPT_KILL_LINE "\025"

/*
 * Arguments after argv[0], NULL at the end. clean: without start-up files; tty: the
 * shell has a terminal; dev_tty: /dev/tty leads to that terminal.
 */
const char *const *script_argv(enum shells_kind kind, bool clean, bool tty, bool dev_tty);

/*
 * The line that defines the shell's mark functions and then shows a prompt mark with the
 * given id. The functions work whatever the start-up files have set. Marks go to the
 * terminal, or, if there is none, to the descriptor that the lines come from. in_folder:
 * ash first enters $OLDPWD and unsets it, since it was started in the folder of
 * tty_folder.h.
 */
void script_setup(struct buf *out, enum shells_kind kind, bool tty, bool in_folder,
	const char *nonce, const char *id);

/*
 * As script_setup, for a shell that is at a prompt without our mark: our functions and
 * variables in it may be lost. The prompt mark reports the shell's present $?.
 */
void script_setup_restore(struct buf *out, enum shells_kind kind, bool tty,
	const char *nonce, const char *id);

/* Whether the shell has read the whole file of the command when its start mark comes. */
bool script_reads_first(enum shells_kind kind);

/*
 * Whether script_submit can have the command typed: it is short, has no keys of the
 * terminal, and the shell treats it like a file. Any other command goes into a file, or
 * is typed only if no file can be made.
 */
bool script_can_type(enum shells_kind kind, struct str command);

/* Whether a terminal in canonical mode passes the text on unchanged. */
bool script_is_plain(struct str command);

/*
 * The line before a text that is typed in unchanged; the line has a prompt of its own. A
 * mark with the id reports that the line was taken; status becomes $? of that line.
 */
void script_put_lead(struct buf *out, enum shells_kind kind, const char *id, int status);

/*
 * The lines that run the command, or the command in the file at path if path is not
 * empty; status becomes $? for the start of the command. Marks with the id report its
 * start and its end.
 */
void script_submit(struct buf *out, enum shells_kind kind, struct str command,
	const char *path, const char *id, int status);

#endif
