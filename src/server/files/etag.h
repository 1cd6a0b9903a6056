/*
 * The entity tag of a file, which is its SHA-256, and the conditions of a request about
 * it: If-Match and If-None-Match (RFC 9110, 8.8.3 and 13.1).
 */
#ifndef SERVER_FILES_ETAG_H
#define SERVER_FILES_ETAG_H

#include "base/hash.h"
#include "server/files/transfer_io.h"

/* Hashes the content of fd from its start on. Returns 0 or -errno. */
int etag_hash(int fd, char hex[SHA256_HEX + 1]) MUST_USE;
/* Adds the field ETag to the head of a reply. */
void etag_add(struct transfer_head *head, const char *hex);

/*
 * Whether a condition is "*", and whether it is a list of tags. Both are false without
 * one.
 */
bool etag_is_any(struct str field);
bool etag_is_list(struct str field);
/*
 * Whether the conditions allow an existing file to be sent or replaced. hex is its hash;
 * an empty one matches no tag.
 */
bool etag_allows(const struct transfer_request *ask, const char *hex);
/* Answers 412. */
int etag_fail(struct transfer_io *io) MUST_USE;

#endif
