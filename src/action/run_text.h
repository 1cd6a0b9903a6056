/* The texts of the run action, exactly as the wire contract has them. */
#ifndef ACTION_RUN_TEXT_H
#define ACTION_RUN_TEXT_H

#include "base/buf.h"
#include "proc/tree.h"
#include "shell/shell.h"

#define RUN_OUTPUT_OF_PREVIOUS "[Below is the output of the previous command.]\n"
#define RUN_NOTHING_TO_READ "ERROR: No previous running command to retrieve logs from."
#define RUN_NOTHING_TO_TYPE_TO "ERROR: No previous running command to interact with."

/*
 * Strips empty lines before and blanks behind the output; leading blanks may be output.
 */
struct str run_strip_blanks(struct str text);

/* The key of a command such as "C-c", or 0 if it is none. */
char run_parse_key(struct str command);

/* Suffixes; each is appended to out. key is 0, or the key that was sent. */
void run_suffix_finished(struct buf *out, const struct shell_result *r, char key);
/* In brackets: processes of the sandbox were ended by the out-of-memory killer. */
void run_note_oom(struct buf *out, const struct shell_result *r);
void run_suffix_no_change(struct buf *out, unsigned seconds);
void run_suffix_timed_out(struct buf *out, double seconds);
void run_suffix_refused(struct buf *out, struct str command);
/* A static run was ended. */
void run_suffix_killed(struct buf *out, const struct tree *report);
/* There is no terminal, for the reason err; states the consequences for commands. */
void run_suffix_no_terminal(struct buf *out, int err);
/* Without a terminal: why key was not sent, and what to do instead. */
void run_put_key_error(struct buf *out, char key, int err);
/* The prefix where older lines were dropped. */
void run_prefix_truncated(struct buf *out, size_t kept);

#endif
