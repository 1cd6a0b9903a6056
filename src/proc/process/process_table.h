/*
 * The number of the last process and the keys of requests, in memory that outlives serve:
 * no id is used twice, and no request with a key starts two processes.
 */
#ifndef PROC_PROCESS_PROCESS_TABLE_H
#define PROC_PROCESS_PROCESS_TABLE_H

#include "base/hash.h"
#include "proc/store.h"

struct process_table_memory;

struct process_table {
	struct process_table_memory *memory; /* NULL: not made yet */
	int fd;
};

void process_table_init(struct process_table *t);
void process_table_free(struct process_table *t);
/* Makes the memory unless it exists, and stores it: 0 or -errno. */
int process_table_make(struct process_table *t, struct store *store) MUST_USE;
/* Takes fd over, the table of an earlier serve. */
void process_table_restore(struct process_table *t, int fd);

/* The number of a new process. The memory has been made. */
uint64_t process_table_add_number(struct process_table *t);

/*
 * Finds a key. 0: *number is that of its process; 1: the key is not known; ERR_REFUSED:
 * it was used with another request.
 */
int process_table_find_key(const struct process_table *t, struct str key,
	const uint8_t request[SHA256_LEN], uint64_t *number) MUST_USE;
/* Adds a key, in the place of the oldest. The memory has been made. */
void process_table_add_key(struct process_table *t, struct str key,
	const uint8_t request[SHA256_LEN], uint64_t number);
/* Forgets the key of the process, if it has one. */
void process_table_drop_key(struct process_table *t, uint64_t number);

#endif
