/*
 * What a cell has given, as the wire contract's observation shows it: texts in the
 * order of their arrival without anything between them, PNG images apart. An engine,
 * the same for all kinds of kernels.
 */
#ifndef KERNEL_CELL_H
#define KERNEL_CELL_H

#include "kernel/rich.h"

struct cell {
	struct buf head;   /* the text up to CELL_HEAD_MAX bytes... */
	struct buf tail;   /* ...and the last of what comes behind it */
	uint64_t left_out; /* bytes between the two */
	struct buf images; /* each a JSON string, with commas between */
	struct rich rich;  /* what else it shows */
	bool any;          /* a text has come, if only an empty one */
};

void cell_init(struct cell *c);
void cell_free(struct cell *c);
/* Forgets all; the memory of a large text is given back. */
void cell_reset(struct cell *c);

/* A piece of a stream, a text/plain, a traceback. */
void cell_text(struct cell *c, struct str text);
/* An image/png as base64; blanks at its end do not count. */
void cell_image(struct cell *c, struct str base64);

/*
 * Appends the content: the text without colours and without blanks at its end, or the
 * words for a cell without output. -ENOMEM.
 */
int cell_content(const struct cell *c, struct buf *out) MUST_USE;
bool cell_has_images(const struct cell *c);
/* Writes the value of image_urls: the list of images. */
void cell_write_images(const struct cell *c, struct jw *w);

/* s without the blanks of Unicode at its end, as Python's rstrip. */
struct str cell_rstrip(struct str s);

#endif
