/* PUT /v1/processes/ID/stdin: a body of any length, taken as the process reads it. */
#include "server/process/processes.h"

#include "base/jw.h"
#include "server/params.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* In the request's arena. */
struct input {
	struct asked asked;
	struct process_follower follower;
	struct process *process;
	struct request *rq;
	uint64_t offset; /* in stdin, of the next byte of the body; UINT64_MAX: none */
	bool close;
	const char *failed; /* reason to discard the rest of the body; or NULL */
};

static uint64_t offset_of(const struct process *p)
{
	struct process_stdin in;

	process_stdin(p, &in);
	return in.offset;
}

static void input_told(struct process_follower *f)
{
	request_take_more(container_of(f, struct input, follower)->rq);
}

static void input_gone(struct request *rq)
{
	struct input *in = rq->user;

	rq->user = NULL;
	process_unfollow(&in->follower);
}

/*
 * How many of n bytes of the body to skip: bytes that were taken before; after a failure,
 * all.
 */
static size_t input_skip(struct input *in, size_t n)
{
	uint64_t taken = offset_of(in->process), known;

	if (in->failed || process_is_removed(in->process))
		return n;
	if (in->offset == UINT64_MAX || in->offset == taken)
		return 0;
	if (in->offset > taken) {
		in->failed = "Another request has written to stdin meanwhile.";
		return n;
	}
	known = taken - in->offset;
	return known < n ? (size_t)known : n;
}

static void input_count(struct input *in, size_t n)
{
	if (in->offset != UINT64_MAX)
		in->offset += n;
}

static size_t input_body(struct request *rq, struct str piece)
{
	struct input *in = rq->user;
	size_t skip = input_skip(in, piece.n);
	ssize_t n = 0;

	if (skip < piece.n)
		n = process_stdin_write(in->process, str_skip(piece, skip));
	if (n < 0) {
		in->failed = "The process reads no more of stdin.";
		return piece.n;
	}
	input_count(in, skip + (size_t)n);
	return skip + (size_t)n;
}

static ssize_t input_move(struct request *rq, int fd, size_t n)
{
	struct input *in = rq->user;
	ssize_t moved;

	if (input_skip(in, n))
		return -EINVAL;
	moved = process_stdin_move(in->process, fd, n);
	if (moved > 0)
		input_count(in, (size_t)moved);
	return moved;
}

static void reply_offset(
	struct request *rq, unsigned status, struct process *p, const char *detail)
{
	struct jw w;

	jw_init(&w, request_out(rq));
	jw_object(&w);
	if (detail) {
		jw_key(&w, "detail");
		jw_cstr(&w, detail);
	}
	jw_key(&w, "offset");
	jw_uint(&w, offset_of(p));
	jw_end(&w);
	request_reply(rq, status, API_JSON);
}

static void input_ready(struct request *rq)
{
	struct input *in = rq->user;

	if (!in->failed && in->close)
		process_stdin_end(in->process);
	input_gone(rq);
	reply_offset(rq, in->failed ? 409 : 200, in->process, in->failed);
}

struct input_ask {
	uint64_t offset;
	bool close;
};

void processes_stdin(struct api *api, struct request *rq, struct str id)
{
	static const struct param table[] = {
		{"offset", PARAM_NUMBER, .at = offsetof(struct input_ask, offset),
			.max = INT64_MAX},
		{"close", PARAM_BOOL, .at = offsetof(struct input_ask, close)},
	};
	struct params params = {.arena = &rq->arena, .query = rq->query};
	struct input_ask ask = {.offset = UINT64_MAX};
	struct process *p = processes_find(api, rq, id);
	struct process_stdin state;
	struct input *in;
	int r;

	if (!p)
		return;
	r = params_take(&params, table, ARRAY_LEN(table), &ask);
	if (r) {
		api_refuse(rq, (unsigned)r, params.wrong);
		return;
	}
	process_stdin(p, &state);
	if (ask.offset != UINT64_MAX && ask.offset > state.offset) {
		reply_offset(rq, 409, p, "Bytes before this offset are missing.");
		return;
	}
	in = arena_alloc(&rq->arena, sizeof(*in));
	if (!in) {
		api_no_memory(rq);
		return;
	}
	*in = (struct input){
		.asked = {.gone = input_gone,
			.body = input_body,
			.move = input_move,
			.ready = input_ready},
		.follower.fn = input_told,
		.process = p,
		.rq = rq,
		.offset = ask.offset,
		.close = ask.close,
	};
	rq->user = in;
	rq->body_streams = true;
	process_follow(p, &in->follower);
}
