#include "inject/http/stream.h"

#include "base/json.h"
#include "limits.h"

#include <errno.h>

static struct str stream_read_text(struct json_val v, struct arena *a, int *err)
{
	struct str s = {0};
	int r = json_str(v, a, &s);

	if (r == -ENOMEM)
		*err = r;
	return s;
}

static uint64_t stream_read_count(struct json_val v)
{
	int64_t n;

	return json_i64(v, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

int progress_read(struct str line, struct arena *a, struct progress *p)
{
	static const struct json_caps caps = {
		.depth = JSON_DEPTH_MAX,
		.tokens = JSON_TOKENS_MAX,
		.keys = JSON_KEYS_MAX,
	};
	struct progress got = {0};
	struct json_error e;
	struct json j;
	struct json_val root, detail;
	int r = json_parse(&j, line, &caps, a, &e);

	if (r == -ENOMEM)
		return r;
	if (r) {
		*p = got;
		return 0;
	}
	root = json_root(&j);
	got.text = stream_read_text(
		json_get(json_get(root, "errorDetail"), "message"), a, &r);
	if (!got.text.n)
		got.text = stream_read_text(json_get(root, "error"), a, &r);
	if (json_type(json_get(root, "error")) != JSON_ABSENT ||
		json_type(json_get(root, "errorDetail")) != JSON_ABSENT) {
		got.kind = PROGRESS_ERROR;
	} else {
		got.text = stream_read_text(json_get(root, "stream"), a, &r);
		if (!got.text.n)
			got.text = stream_read_text(json_get(root, "status"), a, &r);
		got.kind = got.text.n ? PROGRESS_TEXT : PROGRESS_OTHER;
		got.id = stream_read_text(json_get(root, "id"), a, &r);
		if (str_eq(got.id, STR("moby.buildkit.trace"))) {
			got.kind = PROGRESS_TRACE;
			got.text = stream_read_text(json_get(root, "aux"), a, &r);
		}
		detail = json_get(root, "progressDetail");
		got.current = stream_read_count(json_get(detail, "current"));
		got.total = stream_read_count(json_get(detail, "total"));
	}
	if (!r)
		*p = got;
	return r;
}

void frames_init(struct frames *f)
{
	*f = (struct frames){0};
}

static int stream_parse_frame_head(struct frames *f)
{
	const unsigned char *h = f->head;

	/*
	 * Streams: 0 is stdin, 3 is the engine's own errors; other numbers are invalid.
	 */
	if (h[0] > 3 || h[1] || h[2] || h[3])
		return ERR_SYNTAX;
	f->left =
		(uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 | (uint32_t)h[6] << 8 | h[7];
	return 0;
}

int frames_next(struct frames *f, struct str *in, int *fd, struct str *piece)
{
	size_t n;

	while (!f->left) {
		size_t want = sizeof(f->head) - f->head_n;

		if (!in->n)
			return 1;
		n = want < in->n ? want : in->n;
		memcpy(f->head + f->head_n, in->p, n);
		f->head_n += (unsigned)n;
		*in = str_skip(*in, n);
		if (f->head_n < sizeof(f->head))
			return 1;
		f->head_n = 0;
		if (stream_parse_frame_head(f))
			return ERR_SYNTAX;
	}
	if (!in->n)
		return 1;
	n = f->left < in->n ? f->left : in->n;
	*piece = str_make(in->p, n);
	*fd = f->head[0] < 2 ? 1 : 2;
	*in = str_skip(*in, n);
	f->left -= (uint32_t)n;
	return 0;
}

int frames_close(const struct frames *f)
{
	return f->left || f->head_n ? ERR_CLOSED : 0;
}
