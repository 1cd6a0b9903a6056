/*
 * The file editor that agents use: view, create, str_replace, insert, undo_edit, with
 * the texts of the wire contract.
 *
 * Runs in a job, see fs/put.h. The text for undo_edit is returned to the caller,
 * whose process outlives the job.
 */
#ifndef FS_EDITOR_H
#define FS_EDITOR_H

#include "fs/history.h"
#include "fs/path.h"

/* An integer argument as received. */
enum editor_number {
	EDITOR_ABSENT,
	EDITOR_GIVEN,
	EDITOR_INVALID, /* no integer, or not two; see line_shown, range_shown */
};

/* Strings are UTF-8; p is NULL if one is absent. */
struct editor_req {
	struct str command;
	struct str path; /* as sent */
	struct str root; /* the working directory, for a hint */
	struct str file_text;
	struct str old_str;
	struct str new_str;
	enum editor_number line_kind;
	int64_t insert_line;
	struct str line_shown;
	enum editor_number range_kind;
	int64_t range[2];
	struct str range_shown; /* as Python would print it */
	const struct history *history;
};

enum editor_history {
	EDITOR_NO_HISTORY,
	EDITOR_PUSH, /* undo_edit restores answer.kept */
	EDITOR_POP,
};

struct editor_answer {
	struct buf content; /* text for the agent; an error starts with "ERROR:\n" */
	struct buf diff;
	enum editor_history history; /* change to the history of path */
	struct buf history_text;
	struct file_path path; /* key of the history */
};

/*
 * Runs one command. 0 with the answer, which also reports failures; -ENOMEM if memory
 * is too small for it. The caller frees the answer in either case.
 */
int editor_run(const struct editor_req *q, struct editor_answer *out) MUST_USE;
void editor_free(struct editor_answer *out);

#endif
