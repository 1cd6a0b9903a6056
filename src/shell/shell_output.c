#include "shell/shell_output.h"

#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum {
	OUTPUT_WORK = 32768,      /* units of vt_get_work in a turn: about 0.3 ms */
	OUTPUT_FRESH_MAX = 65536, /* one read, and bytes held back as part of a mark */
	/* A mark that covers an offset begins at most this many bytes before it. */
	LOOK_BACK = MARK_BODY_MAX + 2 * (MARK_NONCE + 16),
	SHOWS_NO_NONCE = 7, /* ESC ] 7777 ; */
};

int shell_output_init(
	struct shell_output *o, const char *name, const struct shell_output_ops *ops)
{
	int r;

	*o = (struct shell_output){.name = name, .ops = ops, .nonce = "", .spool.fd = -1};
	buf_init(&o->fresh, OUTPUT_FRESH_MAX);
	o->vt = vt_new();
	r = o->vt ? spool_make(&o->spool) : -ENOMEM;
	if (r < 0)
		vt_free(o->vt);
	return r;
}

void shell_output_free(struct shell_output *o)
{
	buf_free(&o->fresh);
	mark_free(&o->marks);
	vt_free(o->vt);
	spool_free(&o->spool);
}

int shell_output_adopt(struct shell_output *o, int fd)
{
	struct spool old = {.fd = -1};
	int r = spool_adopt(&old, fd);

	if (r < 0)
		return r;
	spool_free(&o->spool);
	o->spool = old;
	o->fed = spool_get_end(&old);
	return 0;
}

void shell_output_clear(struct shell_output *o)
{
	o->reported = 0;
	shell_output_drop(o, spool_get_end(&o->spool));
	vt_reset(o->vt);
	o->shown = (struct vt_mark){0};
}

void shell_output_set_nonce(struct shell_output *o, const char *nonce)
{
	o->nonce = nonce;
	mark_free(&o->marks);
	mark_init(&o->marks, nonce);
}

void shell_output_drop(struct shell_output *o, uint64_t from)
{
	uint64_t end = spool_get_end(&o->spool);

	spool_drop_before(&o->spool, from);
	end -= spool_get_end(&o->spool);
	o->dropped += end;
	o->fed = o->fed > end ? o->fed - end : 0;
}

void shell_output_carry(struct shell_output *o)
{
	bool shown = false;

	shell_output_drop(o, o->reported);
	vt_reset(o->vt);
	mark_restart(&o->marks);
	o->shown = (struct vt_mark){0};
	o->reported = 0;
	o->fed = 0;
	shell_output_begin_turn(o);
	shell_output_feed_backlog(o, &shown);
}

uint64_t shell_output_get_fed(const struct shell_output *o)
{
	size_t pending = mark_count_pending(&o->marks);

	/* A part of a mark does not count: the other part alone would be text. */
	return o->fed > pending ? o->fed - pending : 0;
}

bool shell_output_has_backlog(const struct shell_output *o)
{
	return o->fed < spool_get_end(&o->spool);
}

/* --- Feeding ---------------------------------------------------------------------- */

void shell_output_begin_turn(struct shell_output *o)
{
	o->limit = vt_get_work(o->vt) + OUTPUT_WORK;
}

bool shell_output_is_turn_over(const struct shell_output *o)
{
	return vt_get_work(o->vt) >= o->limit;
}

/* Shows data, which came before *in; data that has to wait is put back in front. */
static void shell_output_feed_data(struct shell_output *o, struct str data,
	struct str *in, uint64_t limit, enum shell_output_use use)
{
	struct str rest = data;
	int r;

	/* A part of a prefix that turned out to be no mark is not in *in. */
	if (data.p + data.n != in->p)
		limit = UINT64_MAX;
	r = vt_feed_limited(o->vt, &rest, limit);
	if (r < 0)
		log_warn("shell %s: out of memory: output is lost", o->name);
	if (use == SHELL_OUTPUT_REPORT)
		buf_str(&o->fresh, str_make(data.p, data.n - rest.n));
	if (rest.n)
		*in = str_make(rest.p, rest.n + in->n);
}

/* Feeds *in, and removes the fed bytes from it. */
static void shell_output_feed_until(
	struct shell_output *o, struct str *in, uint64_t limit, bool *shown)
{
	struct mark_event e;
	struct str data;

	while (in->n && vt_get_work(o->vt) < limit) {
		enum mark_step step = mark_next(&o->marks, in, &data, &e);
		enum shell_output_use use = o->ops->get_use(o);

		if (step == MARK_EVENT) {
			o->ops->on_mark(o, &e);
		} else if (step == MARK_DATA && use != SHELL_OUTPUT_DROP) {
			*shown = true;
			shell_output_feed_data(o, data, in, limit, use);
		}
	}
}

/* Feeds the newest bytes of the spool; `part` begins where o->fed stands. */
static void shell_output_feed_part(
	struct shell_output *o, struct str part, uint64_t limit, bool *shown)
{
	size_t all = part.n;
	bool some = false;

	shell_output_feed_until(o, &part, limit, &some);
	o->fed += all - part.n;
	if (o->fresh.err)
		log_warn("shell %s: out of memory: output is lost", o->name);
	o->ops->on_fed(o, buf_view(&o->fresh), some);
	buf_reset(&o->fresh);
	*shown |= some;
}

void shell_output_feed_backlog(struct shell_output *o, bool *shown)
{
	while (shell_output_has_backlog(o) && !shell_output_is_turn_over(o)) {
		struct str part = spool_get_bytes(&o->spool, o->fed);

		/* At most as many bytes as a read, so that on_fed gets no more. */
		if (part.n > SPOOL_READ)
			part.n = SPOOL_READ;
		shell_output_feed_part(o, part, o->limit, shown);
	}
}

ssize_t shell_output_read(struct shell_output *o, int fd, bool *shown)
{
	size_t space;
	char *p = spool_get_space(&o->spool, &space);
	ssize_t n = read(fd, p, space);

	if (n < 0)
		return -errno;
	if (n > 0)
		shell_output_feed_part(
			o, spool_commit(&o->spool, (size_t)n), o->limit, shown);
	return n;
}

void shell_output_print(struct shell_output *o, struct str bytes)
{
	bool shown = false;
	size_t space;

	for (size_t i = 0; i < bytes.n; i++) {
		*spool_get_space(&o->spool, &space) = bytes.p[i];
		shell_output_feed_part(o, spool_commit(&o->spool, 1), UINT64_MAX, &shown);
	}
}

size_t shell_output_feed_again(struct shell_output *o, struct str in)
{
	size_t all = in.n;
	bool shown = false;

	shell_output_begin_turn(o);
	shell_output_feed_until(o, &in, o->limit, &shown);
	return all - in.n;
}

/* The gap may begin and end inside a sequence, a mark or a line. */
void shell_output_feed_gap(struct shell_output *o, struct spool_gap gap)
{
	char note[128];
	int n = snprintf(note, sizeof(note),
		"\x18\r\n[%llu bytes of output were lost when the server was "
		"restarted]\r\n",
		(unsigned long long)(gap.to - gap.from));
	struct str in = str_make(note, (size_t)n);
	bool shown = false;

	o->marks.matched = 0;
	shell_output_feed_until(o, &in, UINT64_MAX, &shown);
}

int shell_output_report(struct shell_output *o, struct buf *out, size_t *kept)
{
	int r = vt_report(o->vt, &o->shown, out, kept);

	o->reported = shell_output_get_fed(o);
	return r;
}

/* --- Raw bytes -------------------------------------------------------------------- */

/* The number of bytes that are a part of a mark, or may become one with later bytes. */
static size_t shell_output_count_held(const struct mark_splitter *m)
{
	size_t prefix = strlen(m->prefix);

	return m->matched < prefix ? m->matched : prefix + m->body.n;
}

/*
 * Appends the data between marks to out, unless out is NULL; the first *skip bytes are
 * left out.
 */
static void shell_output_put_data(
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
static size_t shell_output_put_part(
	struct shell_output *o, uint64_t at, uint64_t from, uint64_t to, struct buf *out)
{
	struct mark_splitter marks;
	size_t prefix, skip = 0, rest;

	mark_init(&marks, o->nonce);
	prefix = strlen(marks.prefix);
	while (at < to) {
		uint64_t limit = at < from ? from : to;
		struct str in = spool_get_bytes(&o->spool, at);

		if (in.n > limit - at)
			in.n = (size_t)(limit - at);
		shell_output_put_data(&marks, in, &skip, at < from ? NULL : out);
		at += in.n;
		/* These bytes may turn out to be data; they are before the part. */
		if (at == from && marks.matched < prefix)
			skip = marks.matched;
	}
	rest = shell_output_count_held(&marks);
	mark_free(&marks);
	return rest > skip ? rest - skip : 0;
}

int shell_output_get_raw(struct shell_output *o, uint64_t offset, size_t max,
	struct buf *out, struct shell_part *part)
{
	struct spool_gap gap = spool_gap(&o->spool);
	bool lost = offset >= gap.from && offset < gap.to;
	uint64_t from = lost ? gap.to : offset;
	bool in_head = from < gap.from && gap.from < gap.to;
	uint64_t first = !in_head && gap.from < gap.to ? gap.to : 0;
	uint64_t to = in_head ? gap.from : spool_get_end(&o->spool);
	size_t rest;

	if (offset > spool_get_end(&o->spool))
		return ERR_RANGE;
	if (to - from > max)
		to = from + max;
	if (from - first > LOOK_BACK)
		first = from - LOOK_BACK;
	rest = shell_output_put_part(o, first, from, to, out);
	/*
	 * No byte follows before a gap: a possible mark without a nonce yet counts as
	 * data.
	 */
	if (in_head && to == gap.from) {
		if (rest <= SHOWS_NO_NONCE)
			buf_str(out, spool_get_bytes(&o->spool, to - rest));
		rest = 0;
	}
	if (out->err)
		return out->err;
	*part = (struct shell_part){.asked = offset, .from = from, .next = to - rest};
	return 0;
}
