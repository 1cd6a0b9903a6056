/* PUT /v1/processes/ID/stdin: a body of any length, taken as the process reads it. */
#include "server/process/processes.h"

#include "base/jw.h"
#include "server/params.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* In the request's arena. */
struct process_stdin_body {
	struct process_follower follower;
	struct process *process;
	struct request *rq;
	uint64_t offset; /* in stdin, of the next byte of the body; UINT64_MAX: none */
	bool close;
	const char *failed; /* reason to discard the rest of the body; or NULL */
};

static uint64_t process_input_get_offset(const struct process *p)
{
	struct process_stdin in;

	process_stdin(p, &in);
	return in.offset;
}

static void process_input_on_change(struct waiter *f)
{
	request_resume_body(
		container_of(f, struct process_stdin_body, follower.waiter)->rq);
}

static void process_input_on_close(struct request *rq)
{
	struct process_stdin_body *in = rq->user;

	rq->user = NULL;
	process_unfollow(&in->follower);
}

/*
 * How many of n bytes of the body to skip: bytes that were taken before; after a failure,
 * all.
 */
static size_t process_input_count_skip(struct process_stdin_body *in, size_t n)
{
	uint64_t taken = process_input_get_offset(in->process), known;

	if (in->failed || process_is_removed(in->process))
		return n;
	if (in->offset == UINT64_MAX || in->offset == taken)
		return 0;
	if (in->offset > taken) {
		in->failed = "Another request has written to stdin in the meantime.";
		return n;
	}
	known = taken - in->offset;
	return known < n ? (size_t)known : n;
}

static void process_input_advance(struct process_stdin_body *in, size_t n)
{
	if (in->offset != UINT64_MAX)
		in->offset += n;
}

static size_t process_input_on_body(struct request *rq, struct str piece)
{
	struct process_stdin_body *in = rq->user;
	size_t skip = process_input_count_skip(in, piece.n);
	ssize_t n = 0;

	if (skip < piece.n)
		n = process_stdin_write(in->process, str_skip(piece, skip));
	if (n < 0) {
		in->failed = "The process has closed its stdin.";
		return piece.n;
	}
	process_input_advance(in, skip + (size_t)n);
	return skip + (size_t)n;
}

static ssize_t process_input_on_splice(struct request *rq, int fd, size_t n)
{
	struct process_stdin_body *in = rq->user;
	ssize_t moved;

	if (process_input_count_skip(in, n))
		return -EINVAL;
	moved = process_stdin_splice(in->process, fd, n);
	if (moved > 0)
		process_input_advance(in, (size_t)moved);
	return moved;
}

static void process_input_reply_offset(
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
	jw_uint(&w, process_input_get_offset(p));
	jw_end(&w);
	request_reply(rq, status, API_JSON);
}

static void process_input_on_ready(struct request *rq)
{
	struct process_stdin_body *in = rq->user;

	if (!in->failed && in->close)
		process_stdin_end(in->process);
	process_input_on_close(rq);
	process_input_reply_offset(rq, in->failed ? 409 : 200, in->process, in->failed);
}

struct process_stdin_params {
	uint64_t offset;
	bool close;
};

void processes_stdin(struct api *api, struct request *rq, struct str id)
{
	static const struct param table[] = {
		{"offset", PARAM_NUMBER,
			.at = offsetof(struct process_stdin_params, offset),
			.max = INT64_MAX},
		{"close", PARAM_BOOL, .at = offsetof(struct process_stdin_params, close)},
	};
	static const struct request_ops ops = {
		.on_ready = process_input_on_ready,
		.on_close = process_input_on_close,
		.on_body = process_input_on_body,
		.on_splice_in = process_input_on_splice,
	};
	struct params params = {.arena = &rq->arena, .query = rq->query};
	struct process_stdin_params ask = {.offset = UINT64_MAX};
	struct process *p = processes_find(api, rq, id);
	struct process_stdin state;
	struct process_stdin_body *in;
	int r;

	if (!p)
		return;
	r = params_read(&params, table, ARRAY_LEN(table), &ask);
	if (r) {
		api_refuse(rq, (unsigned)r, params.error);
		return;
	}
	process_stdin(p, &state);
	if (ask.offset != UINT64_MAX && ask.offset > state.offset) {
		process_input_reply_offset(
			rq, 409, p, "Bytes before this offset are missing.");
		return;
	}
	in = arena_alloc(&rq->arena, sizeof(*in));
	if (!in) {
		api_reply_nomem(rq);
		return;
	}
	*in = (struct process_stdin_body){
		.follower.waiter.fn = process_input_on_change,
		.process = p,
		.rq = rq,
		.offset = ask.offset,
		.close = ask.close,
	};
	rq->ops = &ops;
	rq->user = in;
	rq->body_streams = true;
	process_follow(p, &in->follower);
}
