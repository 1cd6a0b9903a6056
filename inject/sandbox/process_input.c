#include "inject/sandbox/process_input.h"

/* A longer frame would delay a signal that is sent after it. */
enum { FRAME_MAX = 256 * 1024 };

int process_input_init(struct process_input *in, size_t window)
{
	*in = (struct process_input){.ring = BUF_INIT(PROCESS_INPUT_MAX)};
	if (window > PROCESS_INPUT_MAX)
		window = PROCESS_INPUT_MAX;
	if (!buf_reserve(&in->ring, window))
		return in->ring.err;
	buf_commit(&in->ring, window);
	return 0;
}

void process_input_free(struct process_input *in)
{
	buf_free(&in->ring);
}

/* The bytes from offset at to the end of the memory. */
static size_t process_input_run(const struct process_input *in, uint64_t at)
{
	return in->ring.n - (size_t)(at % in->ring.n);
}

static size_t process_input_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

char *process_input_space(const struct process_input *in, size_t *n)
{
	size_t space = in->ring.n - (size_t)(in->read - in->taken);

	if (!space)
		return NULL;
	*n = process_input_least(space, process_input_run(in, in->read));
	return in->ring.p + in->read % in->ring.n;
}

void process_input_add(struct process_input *in, size_t n)
{
	in->read += n;
}

bool process_input_in_frame(const struct process_input *in)
{
	return in->head_n || in->frame_left;
}

int process_input_next(struct process_input *in, struct iovec v[2])
{
	int n = 0;

	if (!process_input_in_frame(in)) {
		size_t run = in->ring.n ? process_input_run(in, in->sent) : 0;

		run = process_input_least(run, (size_t)(in->read - in->sent));
		run = process_input_least(run, FRAME_MAX);
		if (!run)
			return 0;
		process_frame_write_head(in->head, PROCESS_FRAME_STDIN, run);
		in->head_n = PROCESS_FRAME_HEAD;
		in->frame_left = run;
	}
	if (in->head_n)
		v[n++] = (struct iovec){
			in->head + PROCESS_FRAME_HEAD - in->head_n, in->head_n};
	v[n++] = (struct iovec){in->ring.p + in->sent % in->ring.n, in->frame_left};
	return n;
}

void process_input_sent(struct process_input *in, size_t n)
{
	size_t head = process_input_least(n, in->head_n);

	in->head_n -= (unsigned)head;
	in->frame_left -= n - head;
	in->sent += n - head;
}

int process_input_credit(struct process_input *in, uint64_t taken)
{
	if (taken > in->sent)
		return ERR_RANGE;
	if (taken > in->taken)
		in->taken = taken;
	return 0;
}

int process_input_rewind(struct process_input *in, uint64_t taken)
{
	if (taken < in->taken || taken > in->read)
		return ERR_RANGE;
	in->taken = in->sent = taken;
	in->head_n = 0;
	in->frame_left = 0;
	return 0;
}
