/*
 * Connections that are attached to processes: frames both ways, see codec/process_frame.h
 * and docs/protocol.md.
 *
 * An output is sent out of its spool: for a slow peer, only the rest of one frame is held
 * in memory. stdin is taken from the peer within a window, so that control frames are
 * received although the process does not read the bytes in front of them.
 */
#ifndef SERVER_PROCESS_PROCESS_ATTACH_H
#define SERVER_PROCESS_PROCESS_ATTACH_H

#include "server/api.h"

struct attachments;
struct process;

/* The attachments of a server; NULL: out of memory. */
struct attachments *attachments_new(struct api *api) MUST_USE;
/* Ends all attachments. */
void attachments_del(struct attachments *all);

/* Fencing: ends attachments whose lease is lower than the highest seen. */
void attachments_fence(struct attachments *all);

/* GET /v1/processes/ID/attach: turns the connection of rq into an attachment. */
void process_attach(struct api *api, struct request *rq, struct str id);

/*
 * Makes the connection of rq an owner of p, see process_own, if p has
 * kill_on_disconnect. False: out of memory.
 */
bool process_own_request(struct request *rq, struct process *p) MUST_USE;

#endif
