/* Internal declarations shared by editor.c and editor_change.c. */
#ifndef FS_EDITOR_PRIVATE_H
#define FS_EDITOR_PRIVATE_H

#include "fs/editor.h"

#include <sys/stat.h>

/* Bytes: a directory's path, a cut text, a long old_str. */
enum { EDIT_CONTENT_MAX = 24 << 20 };

/* The state of one running command. */
struct editor {
	const struct editor_req *q;
	struct editor_answer *out;
	const char *path; /* normalised */
	bool found;
	bool folder;
};

/* Makes the answer an error with the given text. */
#define EDITOR_FAIL(r, ...) \
	do { \
		buf_puts(&(r)->out->content, "ERROR:\n"); \
		buf_fmt(&(r)->out->content, __VA_ARGS__); \
	} while (0)

/* Reports an errno; what is "read" or "write to". */
void editor_fail_errno(struct editor *r, int err, const char *what);
/* Reports that the path is neither a file nor a folder. */
void editor_fail_kind(struct editor *r);
/* Reports a missing parameter. Returns 0, as the commands do. */
int editor_fail_missing(struct editor *r, const char *name);
/*
 * Reads the whole file if it is a text small enough to edit; otherwise reports why not.
 */
bool editor_load(struct editor *r, int fd, const struct stat *st, struct buf *text);

/* The commands. 0, also if the command fails; -ENOMEM. */
int editor_create(struct editor *r);
int editor_str_replace(struct editor *r);
int editor_insert(struct editor *r);
int editor_undo_edit(struct editor *r);

#endif
