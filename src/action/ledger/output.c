#include "action/ledger/output.h"

#include "base/crc.h"
#include "base/fd.h"
#include "limits.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	HEAD_LEN = OUTPUT_BLOCK - OUTPUT_DATA,
	HEAD_PLACES = (OUTPUT_HEAD + OUTPUT_DATA - 1) / OUTPUT_DATA,
	TAIL_PLACES = (OUTPUT_TAIL + OUTPUT_DATA - 1) / OUTPUT_DATA,
	PLACES_FIRST = 4,
	LIST_FIRST = 64,
};

#define NO_BLOCK UINT32_MAX

/* The head of a block, in the byte order of this machine, as all heads are. */
struct head {
	uint8_t key[OUTPUT_KEY];
	uint64_t index; /* of the block in its output */
	uint64_t source, source_at;
	uint8_t before[SHA256_LEN]; /* state of the digest at its first byte */
	uint32_t n, sum;            /* its bytes, and their CRC-32 */
	uint32_t zero;
	uint32_t own; /* CRC-32 of the members before this one */
};

_Static_assert(sizeof(struct head) == 88, "a head has no holes");
_Static_assert(sizeof(struct head) <= HEAD_LEN && OUTPUT_DATA % 64 == 0, "as promised");

static int output_write_at(int fd, uint64_t at, struct str s)
{
	while (s.n) {
		ssize_t n = pwrite(fd, s.p, s.n, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		s = str_skip(s, (size_t)n);
		at += (uint64_t)n;
	}
	return 0;
}

static uint64_t output_get_offset(uint32_t block, size_t at)
{
	return (uint64_t)block * OUTPUT_BLOCK + at;
}

/* --- The blocks of an output ---------------------------------------------------- */

/* The tail is a ring of places. */
static size_t output_get_slot(uint64_t index)
{
	if (index < HEAD_PLACES)
		return (size_t)index;
	return HEAD_PLACES + (size_t)((index - HEAD_PLACES) % TAIL_PLACES);
}

/* The index of the last block: the one that has, or will have, the newest bytes. */
static uint64_t output_get_last_index(const struct output *x)
{
	return x->end / OUTPUT_DATA;
}

static uint32_t output_get_block(const struct output *x, uint64_t index)
{
	uint64_t last = output_get_last_index(x);
	size_t slot = output_get_slot(index);

	if (index > last || slot >= x->places ||
		(index >= HEAD_PLACES && index + TAIL_PLACES <= last))
		return NO_BLOCK;
	return x->blocks[slot];
}

/*
 * Makes an array of n numbers that begins with those of old and frees old; NULL: old is
 * unchanged.
 */
static uint32_t *output_numbers_new(uint32_t *old, size_t old_n, size_t n)
{
	uint32_t *made = calloc(n, sizeof(*made));

	if (!made)
		return NULL;
	if (old_n)
		memcpy(made, old, old_n * sizeof(*made));
	free(old);
	return made;
}

static int output_reserve_slot(struct output *x, size_t slot)
{
	size_t n = x->places ? x->places : PLACES_FIRST;
	uint32_t *made;

	while (n <= slot)
		n *= 2;
	if (n == x->places)
		return 0;
	made = output_numbers_new(x->blocks, x->places, n);
	if (!made)
		return -ENOMEM;
	for (size_t i = x->places; i < n; i++)
		made[i] = NO_BLOCK;
	x->blocks = made;
	x->places = n;
	return 0;
}

/* --- Free blocks ---------------------------------------------------------------- */

static void output_free_block(struct outputs *o, uint32_t block)
{
	if (o->free_n == o->free_cap) {
		size_t n = o->free_cap ? 2 * o->free_cap : LIST_FIRST;
		uint32_t *made = output_numbers_new(o->free, o->free_n, n);

		/* The block is unused until the next start; no output loses bytes. */
		if (!made)
			return;
		o->free = made;
		o->free_cap = n;
	}
	o->free[o->free_n++] = block;
}

static void output_drop_slot(struct outputs *o, struct output *x, size_t slot)
{
	if (slot >= x->places || x->blocks[slot] == NO_BLOCK)
		return;
	output_free_block(o, x->blocks[slot]);
	x->blocks[slot] = NO_BLOCK;
	x->held--;
}

static void output_drop_slots(struct outputs *o, struct output *x)
{
	for (size_t i = 0; i < x->places; i++)
		output_drop_slot(o, x, i);
	free(x->blocks);
	x->blocks = NULL;
	x->places = 0;
}

/* Frees a block of the output's middle, but never the last. */
static void output_drop_middle(struct outputs *o, struct output *x)
{
	uint64_t last = output_get_last_index(x);

	if (x->low + TAIL_PLACES <= last)
		x->low = last - TAIL_PLACES + 1;
	for (; x->low < last; x->low++)
		if (output_get_block(x, x->low) != NO_BLOCK) {
			output_drop_slot(o, x, output_get_slot(x->low));
			return;
		}
	for (size_t i = HEAD_PLACES; i-- > 0;)
		if (i < last && output_get_block(x, i) != NO_BLOCK) {
			output_drop_slot(o, x, i);
			return;
		}
}

static void output_reclaim_block(struct outputs *o)
{
	struct output *most = NULL;

	for (struct output *x = o->oldest; x; x = x->newer) {
		if (x->closed && x->held) {
			output_drop_slots(o, x);
			return;
		}
		if (!most || x->held > most->held)
			most = x;
	}
	if (most && most->held > 1)
		output_drop_middle(o, most);
}

static uint32_t output_alloc_block(struct outputs *o)
{
	if (!o->free_n && o->blocks_n < o->blocks_max)
		return o->blocks_n++;
	if (!o->free_n)
		output_reclaim_block(o);
	return o->free_n ? o->free[--o->free_n] : NO_BLOCK;
}

/* --- Writing ------------------------------------------------------------------ */

/* The block for the next bytes: a new block, if they begin one. */
static uint32_t output_prepare_block(struct outputs *o, struct output *x)
{
	uint64_t index = output_get_last_index(x);
	size_t slot = output_get_slot(index);

	if (x->end % OUTPUT_DATA)
		return output_get_block(x, index);
	x->sum = 0;
	br_sha256_state(&x->sha.ctx, x->before);
	if (output_reserve_slot(x, slot) < 0)
		return NO_BLOCK;
	/* If the ring has an older block in this place, its content is overwritten. */
	if (x->blocks[slot] == NO_BLOCK) {
		x->blocks[slot] = output_alloc_block(o);
		x->held += x->blocks[slot] != NO_BLOCK;
	}
	return x->blocks[slot];
}

static int output_write_head(const struct outputs *o, const struct output *x,
	uint32_t block, uint64_t index, size_t n)
{
	struct head h = {.index = index,
		.source = x->source,
		.source_at = x->source_at,
		.n = (uint32_t)n,
		.sum = x->sum};

	memcpy(h.key, x->key, OUTPUT_KEY);
	memcpy(h.before, x->before, SHA256_LEN);
	h.own = crc_update(0, str_make((char *)&h, offsetof(struct head, own)));
	return output_write_at(
		o->fd, output_get_offset(block, 0), str_make((char *)&h, sizeof(h)));
}

/*
 * Adds bytes to one block. If source is not NULL, the source is there behind the last
 * byte.
 */
static void output_add_part(
	struct outputs *o, struct output *x, struct str part, const uint64_t *source)
{
	uint32_t block = output_prepare_block(o, x);
	size_t at = (size_t)(x->end % OUTPUT_DATA);
	uint64_t index = output_get_last_index(x);
	int r = -ENOSPC;

	if (block != NO_BLOCK)
		r = output_write_at(o->fd, output_get_offset(block, HEAD_LEN + at), part);
	x->sum = crc_update(x->sum, part);
	sha256_update(&x->sha, part.p, part.n);
	x->end += part.n;
	if (source) {
		x->source = *source;
		x->source_at = x->end;
	}
	if (!r)
		r = output_write_head(o, x, block, index, at + part.n);
	/*
	 * Bytes that cannot be written are lost, with those before them in their block.
	 */
	if (r)
		output_drop_slot(o, x, output_get_slot(index));
}

void output_add(struct outputs *o, struct output *x, struct str bytes, uint64_t source)
{
	size_t known = x->skip < bytes.n ? (size_t)x->skip : bytes.n;

	assert(!x->closed);
	x->skip -= known;
	bytes = str_skip(bytes, known);
	while (bytes.n) {
		size_t room = OUTPUT_DATA - (size_t)(x->end % OUTPUT_DATA);
		struct str part = str_make(bytes.p, bytes.n < room ? bytes.n : room);

		bytes = str_skip(bytes, part.n);
		output_add_part(o, x, part, bytes.n ? NULL : &source);
	}
}

void output_close(struct output *x, uint8_t digest[SHA256_LEN])
{
	sha256_final(&x->sha, digest);
	x->closed = true;
}

/* --- Reading ------------------------------------------------------------------ */

/* The next place that may have a block; the places between head and tail have none. */
static uint64_t output_next_index(const struct output *x, uint64_t index)
{
	uint64_t last = output_get_last_index(x);

	index++;
	return index >= HEAD_PLACES && index + TAIL_PLACES <= last
		? last - TAIL_PLACES + 1
		: index;
}

int output_read(const struct outputs *o, const struct output *x, uint64_t end,
	uint64_t offset, size_t max, struct buf *out, struct output_part *part)
{
	struct output_part p = {offset, offset};

	if (offset > end)
		return ERR_RANGE;
	while (p.from < end &&
		(!x || output_get_block(x, p.from / OUTPUT_DATA) == NO_BLOCK)) {
		uint64_t next =
			x && x->held ? output_next_index(x, p.from / OUTPUT_DATA) : end;

		p.from = next < end / OUTPUT_DATA + 1 ? next * OUTPUT_DATA : end;
		p.from = p.from < end ? p.from : end;
	}
	for (p.next = p.from; p.next < end && max;) {
		size_t at = (size_t)(p.next % OUTPUT_DATA), n = OUTPUT_DATA - at;
		uint32_t block = output_get_block(x, p.next / OUTPUT_DATA);
		char *to;
		int r;

		if (block == NO_BLOCK)
			break;
		n = n < max ? n : max;
		n = n < end - p.next ? n : (size_t)(end - p.next);
		to = buf_reserve(out, n);
		r = to ? fd_read_all_at(
				 o->fd, output_get_offset(block, HEAD_LEN + at), to, n)
		       : out->err;
		if (r)
			return r;
		buf_commit(out, n);
		p.next += n;
		max -= n;
	}
	*part = p;
	return 0;
}

/* --- Life cycle ----------------------------------------------------------------- */

struct output *output_new(struct outputs *o, const uint8_t key[OUTPUT_KEY])
{
	struct output *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	memcpy(x->key, key, OUTPUT_KEY);
	sha256_init(&x->sha);
	x->low = HEAD_PLACES;
	x->older = o->newest;
	*(o->newest ? &o->newest->newer : &o->oldest) = x;
	o->newest = x;
	return x;
}

void output_del(struct outputs *o, struct output *x)
{
	if (!x)
		return;
	output_drop_slots(o, x);
	*(x->older ? &x->older->newer : &o->oldest) = x->newer;
	*(x->newer ? &x->newer->older : &o->newest) = x->older;
	free(x);
}

void outputs_close(struct outputs *o)
{
	struct output *next;

	for (struct output *x = o->oldest; x; x = next) {
		next = x->newer;
		free(x->blocks);
		free(x);
	}
	free(o->free);
	fd_close(&o->fd);
	*o = (struct outputs){.fd = -1};
}

/* --- Outputs of an earlier process ------------------------------------------------ */

struct found {
	struct head head;
	uint32_t block;
};

static int output_compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int r = memcmp(x->head.key, y->head.key, OUTPUT_KEY);

	if (r)
		return r;
	return x->head.index < y->head.index ? -1 : x->head.index > y->head.index;
}

/*
 * Reads the head of a block: 0; 1: the block is incomplete or free; -errno. known: an
 * earlier process of this boot has written it, head after bytes, so that the bytes need
 * no check.
 */
static int output_read_head(
	const struct outputs *o, uint32_t block, bool known, struct head *h)
{
	static char bytes[OUTPUT_BLOCK];
	int r = fd_read_all_at(o->fd, output_get_offset(block, 0), bytes, HEAD_LEN);

	if (r)
		return r == ERR_CLOSED ? 1 : r;
	memcpy(h, bytes, sizeof(*h));
	if (h->own != crc_update(0, str_make(bytes, offsetof(struct head, own))) ||
		h->n == 0 || h->n > OUTPUT_DATA || h->index >= UINT64_MAX / OUTPUT_BLOCK)
		return 1;
	if (known)
		return 0;
	r = fd_read_all_at(o->fd, output_get_offset(block, HEAD_LEN), bytes, h->n);
	if (r)
		return r == ERR_CLOSED ? 1 : r;
	return crc_update(0, str_make(bytes, h->n)) != h->sum;
}

/* Restores the state of the output as of the write of its last block. */
static int output_restore_state(
	struct outputs *o, struct output *x, const struct found *last)
{
	const struct head *h = &last->head;
	char bytes[OUTPUT_DATA];
	int r = fd_read_all_at(
		o->fd, output_get_offset(last->block, HEAD_LEN), bytes, h->n);

	br_sha256_set_state(&x->sha.ctx, h->before, h->index * OUTPUT_DATA);
	sha256_update(&x->sha, bytes, h->n);
	memcpy(x->before, h->before, SHA256_LEN);
	x->sum = h->sum;
	x->end = h->index * OUTPUT_DATA + h->n;
	x->source = h->source;
	x->source_at = h->source_at;
	if (x->source_at <= x->end)
		x->skip = x->end - x->source_at;
	return r;
}

/* Makes an output of its n blocks, sorted by index. */
static int output_build(struct outputs *o, const struct found *f, size_t n)
{
	struct output *x = output_new(o, f->head.key);
	int r = x ? output_restore_state(o, x, &f[n - 1]) : -ENOMEM;

	for (size_t i = 0; i < n && !r; i++) {
		uint64_t index = f[i].head.index;
		size_t slot = output_get_slot(index);

		/*
		 * Only the last block may be incomplete. If two blocks have one index,
		 * the later is used.
		 */
		if (i + 1 < n &&
			(f[i].head.n < OUTPUT_DATA || index == f[i + 1].head.index)) {
			output_free_block(o, f[i].block);
			continue;
		}
		r = output_reserve_slot(x, slot);
		if (r)
			break;
		output_drop_slot(o, x, slot);
		x->blocks[slot] = f[i].block;
		x->held++;
	}
	return r;
}

static struct found *output_found_new(size_t n)
{
	return calloc(n ? n : 1, sizeof(struct found));
}

static int output_load_all(struct outputs *o, bool known)
{
	struct found *f = output_found_new(o->blocks_n);
	size_t n = 0, same;
	int r = f ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < o->blocks_n && r >= 0; i++) {
		r = output_read_head(o, i, known, &f[n].head);
		f[n].block = i;
		if (r == 0)
			n++;
		else if (r > 0)
			output_free_block(o, i);
	}
	if (r >= 0)
		qsort(f, n, sizeof(*f), output_compare_found);
	for (size_t i = 0; i < n && r >= 0; i += same) {
		for (same = 1; i + same < n &&
			!memcmp(f[i].head.key, f[i + same].head.key, OUTPUT_KEY);
			same++)
			;
		r = output_build(o, &f[i], same);
	}
	free(f);
	return r < 0 ? r : 0;
}

int outputs_open(struct outputs *o, int fd, uint32_t blocks_max, bool known)
{
	struct outputs made = {.fd = fd, .blocks_max = blocks_max};
	off_t size = lseek(fd, 0, SEEK_END);
	int r = size < 0 ? -errno : 0;

	size = (size + OUTPUT_BLOCK - 1) / OUTPUT_BLOCK;
	if (!r)
		made.blocks_n = size < (off_t)blocks_max ? (uint32_t)size : blocks_max;
	if (!r)
		r = output_load_all(&made, known);
	if (r)
		outputs_close(&made);
	else
		*o = made;
	return r;
}
