/* What the parts of the editor share: for editor.c and editor_change.c alone. */
#ifndef FILE_EDITOR_PRIVATE_H
#define FILE_EDITOR_PRIVATE_H

#include "file/editor.h"

#include <sys/stat.h>

/* One command on its way. */
struct editor {
	const struct editor_req *q;
	struct editor_answer *out;
	const char *path; /* normalised */
	bool found;
	bool folder;
};

/* The answer is an error with these words. */
#define EDITOR_FAIL(r, ...) \
	do { \
		buf_puts(&(r)->out->content, "ERROR:\n"); \
		buf_fmt(&(r)->out->content, __VA_ARGS__); \
	} while (0)

/* What the system says; what is "read" or "write to". */
void editor_fail_errno(struct editor *r, int err, const char *what);
/* What is there is neither a file nor a folder. */
void editor_fail_kind(struct editor *r);
/* A parameter that the command needs is not there. Returns 0, as the commands do. */
int editor_lacks(struct editor *r, const char *name);
/* All of the file, if it is a text of a size for editing; says so if not. */
bool editor_load(struct editor *r, int fd, const struct stat *st, struct buf *text);

/* The commands. 0, whatever has come of it; -ENOMEM. */
int editor_create(struct editor *r);
int editor_str_replace(struct editor *r);
int editor_insert(struct editor *r);
int editor_undo_edit(struct editor *r);

#endif
