/*
 * The file editor that agents use: view, create, str_replace, insert, undo_edit, with
 * the words of the wire contract.
 *
 * Runs in a job, as file/replace.h tells. What it wants to be remembered for undo_edit
 * it hands to its caller, who outlives it.
 */
#ifndef FILE_EDITOR_H
#define FILE_EDITOR_H

#include "file/history.h"
#include "file/path.h"

/* An integer argument as it came. */
enum editor_number {
	EDITOR_ABSENT,
	EDITOR_GIVEN,
	EDITOR_WRONG, /* no integer, or not two of them: shown is what it is */
};

/* Strings may be absent: p is NULL. They are UTF-8. */
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
	EDITOR_FORGET,
	EDITOR_PUSH, /* answer.kept is what undo_edit brings back */
	EDITOR_POP,
};

struct editor_answer {
	struct buf content; /* for the agent; an error starts with "ERROR:\n" */
	struct buf diff;
	enum editor_history history; /* what to do with that of path */
	struct buf kept;
	struct file_path path; /* under which the history is kept */
};

/*
 * Runs one command. 0 with the answer, which says what has failed, too; -ENOMEM when
 * there is no room for it. The answer is to be freed either way.
 */
int editor_run(const struct editor_req *q, struct editor_answer *out) MUST_USE;
void editor_free(struct editor_answer *out);

#endif
