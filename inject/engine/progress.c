#include "inject/engine/progress.h"

#include <stdio.h>

enum { BAR_MAX = 30, BAR_MIN = 8, PERCENT_COLUMNS = 5 };

static struct meter_part *progress_find_part(struct meter *m, struct str id)
{
	struct meter_part *part;

	if (id.n > sizeof(m->parts[0].id) - 1)
		id.n = sizeof(m->parts[0].id) - 1;
	for (size_t i = 0; i < m->n; i++)
		if (str_eq(id, str_c(m->parts[i].id)))
			return &m->parts[i];
	if (m->n == METER_PARTS_MAX)
		return NULL;
	part = &m->parts[m->n++];
	*part = (struct meter_part){.state = METER_WAITING};
	memcpy(part->id, id.p, id.n);
	return part;
}

/* "Step 2/4 : COPY ..." of the classic builder */
static bool progress_parse_step(struct meter *m, struct str text)
{
	struct str rest = str_skip(text, 5), step;
	uint64_t n, of;

	if (!str_starts(text, STR("Step ")))
		return false;
	step = str_cut(&rest, '/');
	if (str_u64(step, 9999, &n) || str_u64(str_cut(&rest, ' '), 9999, &of) || n < 1 ||
		n > of)
		return false;
	m->step = (unsigned)n;
	m->steps = (unsigned)of;
	return true;
}

static bool progress_has_prefix(struct str text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_starts(text, str_c(words[i])))
			return true;
	return false;
}

void meter_update(struct meter *m, const struct progress *p)
{
	static const char *const begun[] = {"Pulling fs layer", "Waiting", "Preparing",
		"Downloading", "Extracting", "Verifying", "Download complete", "Pushing"};
	static const char *const done[] = {"Pull complete", "Already exists", "Pushed",
		"Layer already exists", "Mounted from"};
	struct meter_part *part;
	bool is_done = progress_has_prefix(p->text, done, ARRAY_LEN(done));

	if (p->kind != PROGRESS_TEXT)
		return;
	if (!p->id.n) {
		progress_parse_step(m, p->text);
		return;
	}
	/* "latest: Pulling from library/x" is not about a part. */
	if (!is_done && !progress_has_prefix(p->text, begun, ARRAY_LEN(begun)))
		return;
	part = progress_find_part(m, p->id);
	if (!part || part->state == METER_DONE)
		return;
	/* An unpacked part was fetched completely: its bytes are counted once. */
	if (str_starts(p->text, STR("Extracting")) ||
		str_starts(p->text, STR("Download complete")))
		part->moved = part->total;
	else if (p->total && p->current <= p->total) {
		part->state = METER_ACTIVE;
		part->total = p->total;
		part->moved = p->current;
	}
	if (is_done) {
		part->state = METER_DONE;
		part->moved = part->total;
	}
}

/* part / whole in n-ths; the numbers may be of any size. */
static unsigned progress_scale(uint64_t part, uint64_t whole, unsigned n)
{
	while (whole > UINT64_MAX / 128) {
		part >>= 1;
		whole >>= 1;
	}
	return (unsigned)(part * n / whole);
}

static void progress_write_bar(
	struct buf *out, size_t room, uint64_t part, uint64_t whole)
{
	unsigned width = room < BAR_MAX ? (unsigned)room : BAR_MAX;
	unsigned full = progress_scale(part, whole, width);

	buf_puts(out, " [");
	for (unsigned i = 0; i < width; i++)
		buf_putc(out, i < full ? '=' : i == full ? '>' : ' ');
	buf_fmt(out, "] %3u%%", progress_scale(part, whole, 100));
}

static void progress_write_megabytes(struct buf *out, uint64_t n)
{
	uint64_t tenths = n / 100000;

	buf_fmt(out, "%llu.%llu", (unsigned long long)(tenths / 10),
		(unsigned long long)(tenths % 10));
}

static bool progress_write_steps(const struct meter *m, size_t columns, struct buf *out)
{
	size_t from = out->n;

	buf_fmt(out, "step %u of %u", m->step, m->steps);
	if (columns > out->n - from + 3 + BAR_MIN + PERCENT_COLUMNS)
		progress_write_bar(out, columns - (out->n - from) - 3 - PERCENT_COLUMNS,
			m->step - 1, m->steps);
	return true;
}

bool meter_write_line(const struct meter *m, size_t columns, struct buf *out)
{
	uint64_t moved = 0, total = 0;
	size_t from = out->n, done = 0;

	if (!m->n)
		return m->steps ? progress_write_steps(m, columns, out) : false;
	for (size_t i = 0; i < m->n; i++) {
		done += m->parts[i].state == METER_DONE;
		if (total + m->parts[i].total < total)
			continue;
		moved += m->parts[i].moved;
		total += m->parts[i].total;
	}
	buf_fmt(out, "%zu of %zu parts", done, m->n);
	if (!total)
		return true;
	buf_puts(out, ", ");
	progress_write_megabytes(out, moved);
	buf_puts(out, " of ");
	progress_write_megabytes(out, total);
	buf_puts(out, " MB");
	if (columns > out->n - from + 3 + BAR_MIN + PERCENT_COLUMNS)
		progress_write_bar(out, columns - (out->n - from) - 3 - PERCENT_COLUMNS,
			moved, total);
	return true;
}
