/*
 * Transfers: requests whose body or answer is files. A job does the work with the
 * rights of the sandbox user; the server only hands bytes on in both directions.
 */
#ifndef SRV_TRANSFER_H
#define SRV_TRANSFER_H

#include "srv/api.h"

/* What a job says before the bytes of its reply. */
struct transfer_head {
	unsigned status;
	uint64_t length; /* REQUEST_LENGTH_UNKNOWN: until it ends */
	char type[64];   /* empty: none */
	struct transfer_field {
		char name[32]; /* empty: no more */
		char value[512];
	} fields[6];
};

struct priv_writer_conf;
struct transfer_io;

/* What is asked of a job. The strings are the request's. */
struct transfer_ask {
	int (*work)(struct transfer_io *io, const struct transfer_ask *ask);
	struct str path;       /* or destination */
	struct str type;       /* content type of the body */
	struct str range;      /* Range, or empty */
	struct str match;      /* If-Match, or empty */
	struct str none_match; /* If-None-Match, or empty */
	struct str to;         /* of a move */
	bool unpack;           /* what comes is an archive, whatever its name */
	bool parents;          /* make missing folders */
	bool replace;          /* what is in the way of a move */
	bool tree;             /* also all below the path */
	bool packed;           /* compress what is sent */
	bool sync;             /* wait until the disk has it */
	bool any_link;         /* symbolic links may lead anywhere */
	bool quick;            /* nothing that lasts by its nature: it has a deadline */
	bool aside;            /* that, but for the sandbox: others come first */
	bool endless;          /* only who listens, or transfer_stop, ends it */
	struct str exclude;    /* of a watch: a glob, or empty */
	bool ignore;           /* of a watch: not what git leaves out */
	bool existing;         /* of a watch: also what is there */
	uint64_t beat_s;       /* of a watch: between signs of life */
	/* For what the job's rights do not suffice; NULL: nothing. */
	const struct priv_writer_conf *privileged;
};

/*
 * Starts the job for rq, whose body, if any, will stream into it; its answer is that
 * of the request. Called in server_ops.head for requests with a body, which sets
 * rq->body_max; otherwise in ready. Answers 503 itself when there is no job.
 */
void transfer_start(struct api *api, struct request *rq, const struct transfer_ask *ask);

/* Has those that are endless say that it is over, and end. */
void transfer_stop(void);

/* Of a request that transfer_start was called for: the callbacks of the server. */
size_t transfer_body(struct request *rq, struct str piece);
ssize_t transfer_move(struct request *rq, int fd, size_t n);
ssize_t transfer_hand(struct request *rq, int fd, size_t n);
void transfer_ready(struct request *rq);
void transfer_room(struct request *rq);
void transfer_gone(struct request *rq);

#endif
