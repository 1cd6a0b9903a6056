#include "inject/image/build_trace.h"

/* Field numbers: StatusResponse.logs, VertexLog.msg. */
enum { TRACE_LOGS = 3, TRACE_LOG_TEXT = 4 };
enum build_trace_wire {
	TRACE_VARINT = 0,
	TRACE_FIXED64 = 1,
	TRACE_BYTES = 2,
	TRACE_FIXED32 = 5
};

static int build_trace_read_varint(struct str *in, uint64_t *out)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		unsigned char c;

		if (!in->n)
			return ERR_SYNTAX;
		c = (unsigned char)*in->p;
		*in = str_skip(*in, 1);
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			*out = v;
			return 0;
		}
	}
	return ERR_SYNTAX;
}

/* The next field: 0 with its number, and its bytes if it has any; 1 at the end. */
static int build_trace_read_field(struct str *in, uint64_t *number, struct str *bytes)
{
	uint64_t tag, n = 0;
	int r;

	*bytes = str_make(NULL, 0);
	if (!in->n)
		return 1;
	r = build_trace_read_varint(in, &tag);
	if (r)
		return r;
	*number = tag >> 3;
	switch ((enum build_trace_wire)(tag & 7)) {
	case TRACE_VARINT:
		return build_trace_read_varint(in, &n);
	case TRACE_FIXED64:
		n = 8;
		break;
	case TRACE_FIXED32:
		n = 4;
		break;
	case TRACE_BYTES:
		r = build_trace_read_varint(in, &n);
		break;
	default:
		return ERR_SYNTAX;
	}
	if (r || n > in->n)
		return ERR_SYNTAX;
	*bytes = str_make(in->p, (size_t)n);
	*in = str_skip(*in, (size_t)n);
	return 0;
}

int build_trace_next(struct str *trace, struct str *text)
{
	uint64_t number = 0;
	struct str log;
	int r;

	while ((r = build_trace_read_field(trace, &number, &log)) == 0) {
		struct str field;
		bool found = false;

		if (number != TRACE_LOGS)
			continue;
		while ((r = build_trace_read_field(&log, &number, &field)) == 0) {
			if (number == TRACE_LOG_TEXT) {
				*text = field;
				found = true;
			}
		}
		if (r < 0 || found)
			return r < 0 ? r : 0;
	}
	return r;
}
