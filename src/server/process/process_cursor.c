#include "server/process/process_cursor.h"

enum { RELEASE_LAG = 32 << 10 /* half of the smallest output_limit */ };

void process_cursor_begin(struct process_cursor *c, struct process *p)
{
	struct process_info info;

	process_info(p, &info);
	c->follower.releases = info.wait_when_full;
	process_follow(p, &c->follower);
	c->owns = info.kill_on_disconnect;
	if (c->owns)
		process_own(p);
}

void process_cursor_end(struct process_cursor *c)
{
	if (c->owns)
		process_disown(c->follower.process);
	process_unfollow(&c->follower);
}

struct output_size process_cursor_get_size(
	const struct process *p, unsigned no, bool until_end)
{
	struct process_output o;

	process_output(p, no, &o);
	if (until_end || o.at_exit > o.end)
		return (struct output_size){o.end, !o.open};
	return (struct output_size){o.at_exit, true};
}

bool process_cursor_is_valid(const struct process *p, const uint64_t at[PROCESS_OUTPUTS])
{
	struct process_output o;

	for (unsigned i = 0; i < process_outputs(p); i++) {
		process_output(p, i, &o);
		if (at[i] > o.end)
			return false;
	}
	return true;
}

/* As process_cursor_next, for one output. ERR_CLOSED: it is complete. */
static int process_cursor_next_of(
	const struct process_cursor *c, unsigned no, struct process_cursor_part *part)
{
	const struct process *p = c->follower.process;
	struct output_size size = process_cursor_get_size(p, no, c->until_end);
	struct process_output o;

	if (c->at[no] >= size.end)
		return size.complete ? ERR_CLOSED : 1;
	process_output(p, no, &o);
	*part = (struct process_cursor_part){.no = no, .from = c->at[no], .to = size.end};
	part->lost = part->from < o.start;
	if (part->lost && o.start < part->to)
		part->to = o.start;
	return 0;
}

int process_cursor_next(const struct process_cursor *c, struct process_cursor_part *part)
{
	const struct process *p = c->follower.process;
	unsigned n = process_outputs(p);
	bool complete = process_get_exit(p);

	for (unsigned i = 1; i <= n; i++) {
		int r = process_cursor_next_of(c, (c->no + i) % n, part);

		if (r == 0)
			return 0;
		complete = complete && r == ERR_CLOSED;
	}
	return complete ? ERR_CLOSED : 1;
}

void process_cursor_move(struct process_cursor *c, unsigned no, uint64_t to)
{
	c->no = no;
	c->at[no] = to;
}

void process_cursor_release(struct process_cursor *c, uint64_t in_flight)
{
	struct process *p = c->follower.process;

	if (in_flight > RELEASE_LAG)
		in_flight = RELEASE_LAG;
	for (unsigned i = 0; i < process_outputs(p); i++)
		if (c->at[i] > in_flight)
			process_release(p, i, &c->follower, c->at[i] - in_flight);
}
