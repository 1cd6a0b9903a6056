#include "proc/process/process_table.h"

#include "base/fd.h"
#include "base/log.h"
#include "limits.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

static const char store_name[] = "proc:table";

/* The key of a request. */
struct process_key {
	uint8_t key[SHA256_LEN], request[SHA256_LEN];
	uint64_t number; /* of the process; 0: free */
};

struct process_table_memory {
	uint32_t size;
	uint32_t key_at; /* modulo PROCESS_KEYS: the index of the next key */
	uint64_t number; /* of the last id */
	struct process_key keys[PROCESS_KEYS];
};

void process_table_init(struct process_table *t)
{
	*t = (struct process_table){.fd = -1};
}

void process_table_free(struct process_table *t)
{
	if (t->memory)
		munmap(t->memory, sizeof(*t->memory));
	t->memory = NULL;
	fd_close(&t->fd);
}

static int process_table_map(struct process_table *t)
{
	void *at = mmap(
		NULL, sizeof(*t->memory), PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);

	if (at == MAP_FAILED)
		return -ENOMEM;
	t->memory = at;
	return 0;
}

void process_table_restore(struct process_table *t, int fd)
{
	struct stat st;

	process_table_free(t);
	t->fd = fd;
	if (fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(*t->memory) &&
		process_table_map(t) == 0 && t->memory->size == sizeof(*t->memory))
		return;
	log_warn("the table of processes was lost in the crash of the server");
	process_table_free(t);
}

int process_table_make(struct process_table *t, struct store *store)
{
	int r;

	if (t->memory)
		return 0;
	t->fd = fd_create_memory("od-processes", sizeof(*t->memory));
	if (t->fd < 0)
		return t->fd;
	r = process_table_map(t);
	if (r < 0) {
		fd_close(&t->fd);
		return r;
	}
	t->memory->size = sizeof(*t->memory);
	r = store_put(store, store_name, t->fd, 0);
	if (r < 0)
		log_warn("the table of processes cannot be stored in init, so a crash "
			 "of the server would lose it: %s",
			err_text(r));
	return 0;
}

uint64_t process_table_add_number(struct process_table *t)
{
	return ++t->memory->number;
}

int process_table_find_key(const struct process_table *t, struct str key,
	const uint8_t request[SHA256_LEN], uint64_t *number)
{
	uint8_t digest[SHA256_LEN];

	sha256_compute(key, digest);
	for (size_t i = 0; t->memory && i < PROCESS_KEYS; i++) {
		const struct process_key *k = &t->memory->keys[i];

		if (!k->number || memcmp(k->key, digest, sizeof(digest)) != 0)
			continue;
		*number = k->number;
		return memcmp(k->request, request, SHA256_LEN) == 0 ? 0 : ERR_REFUSED;
	}
	return 1;
}

void process_table_add_key(struct process_table *t, struct str key,
	const uint8_t request[SHA256_LEN], uint64_t number)
{
	struct process_key *k = &t->memory->keys[t->memory->key_at % PROCESS_KEYS];

	k->number = 0;
	sha256_compute(key, k->key);
	memcpy(k->request, request, sizeof(k->request));
	__atomic_store_n(&k->number, number, __ATOMIC_RELEASE);
	t->memory->key_at++;
}

void process_table_drop_key(struct process_table *t, uint64_t number)
{
	for (size_t i = 0; t->memory && i < PROCESS_KEYS; i++)
		if (t->memory->keys[i].number == number)
			t->memory->keys[i].number = 0;
}
