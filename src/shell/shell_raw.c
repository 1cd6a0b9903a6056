#include "shell/shell_private.h"

#include "base/utf8.h"

/* A mark that covers an offset begins at most this many bytes before it. */
enum { LOOK_BACK = MARK_BODY_MAX + 2 * (MARK_NONCE + 16) };

enum { SHOWS_NO_NONCE = 7 }; /* ESC ] 7777 ; */

/* The number of bytes that are a part of a mark, or may become one with later bytes. */
static size_t shell_raw_count_held(const struct mark_splitter *m)
{
	size_t prefix = strlen(m->prefix);

	return m->matched < prefix ? m->matched : prefix + m->body.n;
}

/*
 * Appends the data between marks to out, unless out is NULL; the first *skip bytes are
 * left out.
 */
static void shell_raw_put_data(
	struct mark_splitter *m, struct str in, size_t *skip, struct buf *out)
{
	struct mark_event e;
	struct str data;
	enum mark_step step;

	while ((step = mark_next(m, &in, &data, &e)) != MARK_MORE) {
		if (step == MARK_DATA && out)
			buf_str(out, str_skip(data, *skip));
		*skip = 0;
	}
}

/*
 * Appends the data in from..to. Reading starts at `at`, where no mark that reaches into
 * from..to is open. Returns the number of bytes at the end that may belong to a mark.
 */
static size_t shell_raw_put_part(
	struct shell *s, uint64_t at, uint64_t from, uint64_t to, struct buf *out)
{
	struct mark_splitter marks;
	size_t prefix, skip = 0, rest;

	mark_init(&marks, s->rec->nonce);
	prefix = strlen(marks.prefix);
	while (at < to) {
		uint64_t limit = at < from ? from : to;
		struct str in = spool_get_bytes(&s->spool, at);

		if (in.n > limit - at)
			in.n = (size_t)(limit - at);
		shell_raw_put_data(&marks, in, &skip, at < from ? NULL : out);
		at += in.n;
		/* These bytes may turn out to be data; they are before the part. */
		if (at == from && marks.matched < prefix)
			skip = marks.matched;
	}
	rest = shell_raw_count_held(&marks);
	mark_free(&marks);
	return rest > skip ? rest - skip : 0;
}

int shell_raw(struct shell *s, uint64_t offset, size_t max, struct buf *out,
	struct shell_part *part)
{
	struct spool_gap gap = spool_gap(&s->spool);
	bool lost = offset >= gap.from && offset < gap.to;
	uint64_t from = lost ? gap.to : offset;
	bool in_head = from < gap.from && gap.from < gap.to;
	uint64_t first = !in_head && gap.from < gap.to ? gap.to : 0;
	uint64_t to = in_head ? gap.from : spool_get_end(&s->spool);
	size_t rest;

	if (offset > spool_get_end(&s->spool))
		return ERR_RANGE;
	if (to - from > max)
		to = from + max;
	if (from - first > LOOK_BACK)
		first = from - LOOK_BACK;
	rest = shell_raw_put_part(s, first, from, to, out);
	/*
	 * No byte follows before a gap: a possible mark without a nonce yet counts as
	 * data.
	 */
	if (in_head && to == gap.from) {
		if (rest <= SHOWS_NO_NONCE)
			buf_str(out, spool_get_bytes(&s->spool, to - rest));
		rest = 0;
	}
	if (out->err)
		return out->err;
	*part = (struct shell_part){.asked = offset, .from = from, .next = to - rest};
	return 0;
}

void shell_store_command(struct shell *s, struct str command)
{
	if (command.n > SHELL_COMMAND_SHOWN) {
		command.n = SHELL_COMMAND_SHOWN;
		command.n -= utf8_unfinished_length(command);
	}
	memcpy(s->rec->command, command.p, command.n);
	s->rec->command[command.n] = '\0';
}

struct str shell_command(const struct shell *s)
{
	bool has = s->rec->state == SHELL_RUNNING || s->rec->state == SHELL_DONE;

	return has ? str_c(s->rec->command) : STR("");
}

struct str shell_command_id(const struct shell *s)
{
	return str_c(s->rec->id);
}
