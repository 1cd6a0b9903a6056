/*
 * The output of a cell, as the wire contract's observation shows it: texts concatenated
 * in the order of arrival, PNG images separately. Without I/O, used by all kinds of
 * kernels.
 */
#ifndef KERNEL_CELL_H
#define KERNEL_CELL_H

#include "kernel/rich.h"

struct cell {
	struct buf head;   /* the text up to CELL_HEAD_MAX bytes... */
	struct buf tail;   /* ...and the last part of the text after it */
	uint64_t left_out; /* omitted bytes between the two */
	struct buf images; /* each a JSON string, with commas between */
	struct rich rich;  /* output of other MIME types */
	bool has_text;     /* a text has come, even if empty */
};

void cell_init(struct cell *c);
void cell_free(struct cell *c);
/* Clears the output; the memory of a large text is freed. */
void cell_reset(struct cell *c);

/* Appends a piece of a stream, a text/plain or a traceback. */
void cell_put_text(struct cell *c, struct str text);
/* Adds an image/png as base64; blanks at its end are removed. */
void cell_put_image(struct cell *c, struct str base64);

/*
 * Appends the content: the text without colours and without blanks at its end, or the
 * contract's text for a cell without output. -ENOMEM.
 */
int cell_write_content(const struct cell *c, struct buf *out) MUST_USE;
bool cell_has_images(const struct cell *c);
/* Writes the value of image_urls: the list of images. */
void cell_write_images(const struct cell *c, struct jw *w);

/* Returns s without the Unicode blanks at its end, as Python's rstrip. */
struct str cell_rstrip(struct str s);

#endif
