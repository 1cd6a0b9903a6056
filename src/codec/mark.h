/*
 * Marks: a shell reports through its terminal, invisibly for the user, that a command
 * begins or has ended.
 *
 * A mark is an operating system command (OSC) of ECMA-48 with a random nonce that only
 * the shell's own functions have:
 *
 *   ESC ] 7777 ; NONCE ; KIND ; ID ; STATUS ; JOB ; CWD ; NONCE ; PATH ; NONCE BEL
 *
 * KIND is s (the command starts), t (the text of the command has been executed; some
 * shells omit it and send only p), p (the shell is at its prompt again) or e (as p, and
 * the shell has a line editor, for which any byte may be a key). JOB is $!, empty or 0
 * where there is none. CWD and PATH are the shell's variables PWD and PATH, which may
 * hold any byte but NUL. A mark of kind s may come with JOB, CWD and PATH empty.
 *
 * The splitter is an engine without I/O: it separates the terminal's output into data
 * and marks, however the bytes are cut.
 */
#ifndef CODEC_MARK_H
#define CODEC_MARK_H

#include "base/buf.h"

enum { MARK_NONCE = 32, MARK_ID = 16 };

enum mark_kind {
	MARK_START = 's',
	MARK_TEXT_DONE = 't',
	MARK_PROMPT = 'p',
};

struct mark_event {
	enum mark_kind kind;
	struct str id;
	bool edits;         /* a prompt with a line editor */
	int status;         /* 0 to 255 */
	int64_t background; /* JOB, -1 for none */
	struct str cwd;     /* valid until the next call */
	struct str path;    /* the same */
};

struct mark_splitter {
	char prefix[8 + MARK_NONCE + 2]; /* ESC ] 7777 ; NONCE ; */
	char suffix[MARK_NONCE + 3];     /* ; NONCE BEL */
	size_t matched;                  /* bytes of prefix seen */
	struct buf body;                 /* bytes between prefix and suffix */
};

/* nonce has MARK_NONCE characters. */
void mark_init(struct mark_splitter *m, const char *nonce);
void mark_free(struct mark_splitter *m);

enum mark_step {
	MARK_MORE,  /* *in is empty */
	MARK_DATA,  /* *data is output; valid until the next call */
	MARK_EVENT, /* *e is a mark */
};

/* Takes some bytes off *in and returns what they were. Call until MARK_MORE. */
enum mark_step mark_next(struct mark_splitter *m, struct str *in, struct str *data,
	struct mark_event *e) MUST_USE;

/* The number of bytes taken last that may be the beginning of a mark. */
size_t mark_count_pending(const struct mark_splitter *m);
/* Forgets the bytes of mark_count_pending: the caller feeds them again. */
void mark_restart(struct mark_splitter *m);

#endif
