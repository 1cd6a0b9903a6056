/* Converts the messages of a Jupyter kernel to the output of its cell. */
#ifndef KERNEL_CELL_MESSAGE_H
#define KERNEL_CELL_MESSAGE_H

#include "codec/jmsg.h"
#include "kernel/cell.h"

/*
 * Adds the output of a message to the cell: streams, results, an error's traceback,
 * pages of a reply. Other messages have no effect. The decoded texts are allocated in
 * the arena.
 */
void cell_put_message(struct cell *c, const struct jmsg *m, struct arena *a);

#endif
