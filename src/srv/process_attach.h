/*
 * Connections that are attached to processes: frames both ways, see net/process_frame.h
 * and docs/protocol.md.
 *
 * An output is sent out of its spool; of what a slow peer has not taken nothing is held
 * here but the rest of one frame. stdin is taken from the peer within a window, so that
 * control frames pass bytes that the process does not read.
 */
#ifndef SRV_PROCESS_ATTACH_H
#define SRV_PROCESS_ATTACH_H

#include "srv/api.h"

struct attachments;
struct process;

/* The attachments of a server; NULL: out of memory. */
struct attachments *attachments_new(struct api *api) MUST_USE;
/* Ends all at once. */
void attachments_del(struct attachments *all);

/* A higher lease may have been shown: ends those with a lower one. */
void attachments_fence(struct attachments *all);

/* GET /v1/processes/ID/attach: the connection becomes one. */
void process_attach(struct api *api, struct request *rq, struct str id);

/*
 * The connection of rq owns p, see process_own, if p is to be killed when it is
 * disconnected. False: out of memory.
 */
bool process_own_by(struct request *rq, struct process *p) MUST_USE;

#endif
