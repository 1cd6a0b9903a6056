/*
 * The SHA-256 of a file that is being written, computed by another process at the same
 * time. This pays from HASHER_FROM bytes on: hashing takes as long as writing.
 */
#ifndef PROC_HASHER_H
#define PROC_HASHER_H

#include "base/hash.h"

#include <sys/types.h>

/* Sizes in bytes. */
enum {
	HASHER_FROM = 8 << 20, /* shorter files are hashed in 5 ms or less */
	HASHER_STEP = 1 << 20, /* bytes per message to the hashing process */
};

struct hasher {
	struct sha256 h; /* of all bytes, while there is no other process */
	uint64_t n;      /* bytes so far */
	uint64_t sent_n; /* the last length sent to the other process */
	int file;        /* the caller's */
	pid_t pid;       /* of the other process; 0: there is none */
	int to, from;    /* pipes to it and back */
};

/* For the bytes written to fd, which must be readable from its start on. */
void hasher_begin(struct hasher *h, int fd);
/* piece has been appended to the file. */
void hasher_put(struct hasher *h, struct str piece);
/*
 * 0 with the digest; -errno, ERR_CLOSED, or -ETIMEDOUT when the other process was stopped
 * or killed: then the digest can only be computed from the file. There is no other
 * process afterwards.
 */
int hasher_end(struct hasher *h, uint8_t digest[SHA256_LEN]) MUST_USE;
/* Kills the other process; legal after hasher_end, too. */
void hasher_drop(struct hasher *h);

#endif
