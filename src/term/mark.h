/*
 * Marks: how a shell tells us, through its terminal and out of the user's
 * sight, that a command begins or has ended.
 *
 * A mark is one operating system command of ECMA-48 with a random nonce that
 * only the shell's own functions know:
 *
 *   ESC ] 7777 ; NONCE ; KIND ; ID ; STATUS ; JOB ; CWD ; NONCE ; PATH ; NONCE BEL
 *
 * KIND is s (the command starts), t (its text has been executed, which a shell
 * may leave to p), p (it is at its prompt again) or e (so, and with a line editor,
 * to which any byte may be a key). JOB is $!, empty or 0 where there is none. CWD and
 * PATH are the shell's variables PWD and PATH, which may hold any byte but NUL;
 * s may come without these three.
 *
 * The splitter is an engine without I/O: fed with what the terminal prints, it
 * tells data and marks apart, however the bytes are cut.
 */
#ifndef TERM_MARK_H
#define TERM_MARK_H

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
	struct buf body;                 /* what stands between prefix and suffix */
};

/* nonce has MARK_NONCE characters. */
void mark_init(struct mark_splitter *m, const char *nonce);
void mark_free(struct mark_splitter *m);

enum mark_step {
	MARK_MORE,  /* *in is empty */
	MARK_DATA,  /* *data is output; valid until the next call */
	MARK_EVENT, /* *e is a mark */
};

/* Takes some bytes off *in and says what they were. Call until MARK_MORE. */
enum mark_step mark_next(struct mark_splitter *m, struct str *in, struct str *data,
	struct mark_event *e) MUST_USE;

/* Bytes taken last that are, so far, the beginning of a mark. */
size_t mark_pending(const struct mark_splitter *m);
/* Forgets them: they will come once more. */
void mark_restart(struct mark_splitter *m);

#endif
