/* GET /v1/watch, in its job: changes below a folder as a stream of events. */
#ifndef SERVER_FILES_WATCH_H
#define SERVER_FILES_WATCH_H

#include "server/files/transfer_io.h"

/* The work of an endless transfer. It ends when its input ends. */
int watch_work(struct transfer_io *io, const struct transfer_request *ask);

#endif
