/* What the messages of a Jupyter kernel mean for the cell that it executes. */
#ifndef KERNEL_CELL_MESSAGE_H
#define KERNEL_CELL_MESSAGE_H

#include "kernel/cell.h"
#include "kernel/jmsg.h"

/*
 * Puts what a message shows into the cell: output, results, an error's traceback, pages
 * of a reply. What it shows to nobody changes nothing. The arena is for the texts.
 */
void cell_message(struct cell *c, const struct jmsg *m, struct arena *a);

#endif
