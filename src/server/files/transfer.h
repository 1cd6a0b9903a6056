/*
 * Transfers: requests whose body or reply consists of files. A job does the work with the
 * rights of the sandbox user. The server only passes bytes on in both directions.
 */
#ifndef SERVER_FILES_TRANSFER_H
#define SERVER_FILES_TRANSFER_H

#include "server/api.h"

/* The head of a reply, which a job writes before the body. */
struct transfer_head {
	unsigned status;
	uint64_t length; /* REQUEST_LENGTH_UNKNOWN: until the end of the body */
	char type[64];   /* empty: no type */
	struct transfer_add_field {
		char name[32]; /* empty: no further fields */
		char value[512];
	} fields[6];
};

struct priv_writer_conf;
struct transfer_io;

/* The parameters of a job. The strings belong to the request. */
struct transfer_request {
	int (*work)(struct transfer_io *io, const struct transfer_request *ask);
	struct str path;       /* also the destination of an upload */
	struct str type;       /* content type of the body */
	struct str range;      /* Range, or empty */
	struct str match;      /* If-Match, or empty */
	struct str none_match; /* If-None-Match, or empty */
	struct str to;         /* the new path of a move; the session of a watch */
	bool unpack;           /* the body is an archive, whatever its name */
	bool parents;          /* create missing folders */
	bool replace;          /* a move replaces an existing file */
	bool tree;             /* also everything below the path */
	bool packed;           /* compress the reply */
	bool sync;             /* wait until the data is on disk */
	bool any_link;         /* symbolic links may lead out of the destination */
	bool quick;            /* the work is short and has a deadline */
	bool aside;            /* quick, but other jobs run first */
	bool endless;          /* ends only with its client or by transfer_stop */
	struct str exclude;    /* of a watch: a glob, or empty */
	bool ignore;           /* of a watch: leave out what git ignores */
	bool existing;         /* of a watch: also report existing files */
	uint64_t beat_s;       /* of a watch: seconds between heartbeats */
	/* For files that need the server's rights, see priv_writer.h; NULL: none. */
	const struct priv_writer_conf *privileged;
};

/*
 * Starts the job for rq. A body of rq is streamed into it, and its output is the reply.
 * For requests with a body this is called in server_ops.head, which sets rq->body_max;
 * otherwise in ready. If there is no job, it answers 503.
 */
void transfer_start(
	struct api *api, struct request *rq, const struct transfer_request *ask);

/* Makes endless transfers send their last event and end. */
void transfer_stop(void);

#endif
