/*
 * The output of a session: raw bytes in a spool, which pass through the mark splitter
 * into the terminal model. Offsets count the raw bytes of the present command.
 *
 * Bytes are fed to the model until it has done its work of a turn. The backlog, bytes
 * that were read and not fed by then, stays in the spool for the next turn of the loop.
 */
#ifndef SHELL_SHELL_OUTPUT_H
#define SHELL_SHELL_OUTPUT_H

#include "codec/mark.h"
#include "codec/vt/vt.h"
#include "shell/shell.h"
#include "shell/spool.h"

struct shell_output;

/* The use of the data between marks. */
enum shell_output_use {
	SHELL_OUTPUT_DROP,
	SHELL_OUTPUT_SHOW,
	SHELL_OUTPUT_REPORT, /* as SHOW, and fed gets the bytes */
};

struct shell_output_ops {
	enum shell_output_use (*get_use)(const struct shell_output *o);
	/* Handles a mark; it may change the use, and feeds nothing. */
	void (*on_mark)(struct shell_output *o, const struct mark_event *e);
	/* Some bytes were fed. bytes: their data; shown: the model got some data. */
	void (*on_fed)(struct shell_output *o, struct str bytes, bool shown);
};

struct shell_output {
	const char *name; /* of the session, for the log */
	const struct shell_output_ops *ops;
	const char *nonce; /* of the marks */
	struct spool spool;
	struct mark_splitter marks;
	struct vt *vt;
	struct vt_mark shown;
	uint64_t fed;      /* bytes of the spool that were fed */
	uint64_t reported; /* bytes covered by reports, confirmed or not */
	uint64_t dropped;  /* bytes before offset 0 of the spool */
	uint64_t limit;    /* of vt_get_work in the present turn */
	struct buf fresh;  /* data in the bytes that are being fed */
};

/* -errno; then nothing has to be freed. */
int shell_output_init(struct shell_output *o, const char *name,
	const struct shell_output_ops *ops) MUST_USE;
void shell_output_free(struct shell_output *o);
/* Takes fd over, the spool of an earlier process. -errno: fd stays the caller's. */
int shell_output_adopt(struct shell_output *o, int fd) MUST_USE;

/* For a new shell: nothing is left of the former one. */
void shell_output_clear(struct shell_output *o);
/* The nonce of the marks from now on; the caller keeps it. */
void shell_output_set_nonce(struct shell_output *o, const char *nonce);
/* Drops the bytes before offset from. */
void shell_output_drop(struct shell_output *o, uint64_t from);
/*
 * After the answer: output after the last report belongs to the next command, and as much
 * of it as a turn takes is fed.
 */
void shell_output_carry(struct shell_output *o);

/* The offset after all bytes that were taken for data or for a mark. */
uint64_t shell_output_get_fed(const struct shell_output *o);
bool shell_output_has_backlog(const struct shell_output *o);

/* Begins a turn: from now on the model may do its work of a turn. */
void shell_output_begin_turn(struct shell_output *o);
bool shell_output_is_turn_over(const struct shell_output *o);
/* Feeds the backlog. *shown is set if it held something to show. */
void shell_output_feed_backlog(struct shell_output *o, bool *shown);
/* Reads fd once, and feeds the bytes. Their number; 0: the end of fd; -errno. */
ssize_t shell_output_read(struct shell_output *o, int fd, bool *shown) MUST_USE;
/* Adds bytes as if the terminal had printed them, and feeds them. */
void shell_output_print(struct shell_output *o, struct str bytes);
/*
 * Feeds bytes of the spool again after a crash, as many as a turn takes, and returns
 * their number.
 */
size_t shell_output_feed_again(struct shell_output *o, struct str in);
/* Feeds a note in place of the lost bytes. */
void shell_output_feed_gap(struct shell_output *o, struct spool_gap gap);

/* See shell_raw and shell_report. */
int shell_output_get_raw(struct shell_output *o, uint64_t offset, size_t max,
	struct buf *out, struct shell_part *part) MUST_USE;
int shell_output_report(struct shell_output *o, struct buf *out, size_t *kept) MUST_USE;

#endif
