#include "kernel/cell_message.h"

static void cell_put_data(struct cell *cell, struct json_val data, struct arena *a)
{
	struct str s;

	if (json_str(json_get(data, "text/plain"), a, &s) == 0)
		cell_put_text(cell, s);
	if (json_str(json_get(data, "image/png"), a, &s) == 0)
		cell_put_image(cell, s);
	rich_put(&cell->rich, data, NULL);
}

static void cell_put_error(struct cell *cell, const struct jmsg *m, struct arena *a)
{
	struct json_val line;
	bool any = false;
	struct str s;
	int it = 0;

	while (json_next(m->error.traceback, &it, NULL, &line)) {
		if (any)
			cell_put_text(cell, STR("\n"));
		if (json_str(line, a, &s) == 0)
			cell_put_text(cell, s);
		any = true;
	}
	if (any)
		return;
	cell_put_text(cell, m->error.name);
	cell_put_text(cell, STR(": "));
	cell_put_text(cell, m->error.value);
}

/* Adds pages for a pager, for example from "obj?". */
static void cell_put_payload(struct cell *cell, struct json_val payload, struct arena *a)
{
	struct json_val one;
	struct str s;
	int it = 0;

	while (json_next(payload, &it, NULL, &one))
		if (json_str(json_get(one, "source"), a, &s) == 0 &&
			str_eq(s, STR("page")) &&
			json_str(json_get(json_get(one, "data"), "text/plain"), a, &s) ==
				0)
			cell_put_text(cell, s);
}

void cell_put_message(struct cell *c, const struct jmsg *m, struct arena *a)
{
	switch (m->type) {
	case JMSG_STREAM:
		cell_put_text(c, m->stream.text);
		break;
	case JMSG_EXECUTE_RESULT:
	case JMSG_DISPLAY_DATA:
		cell_put_data(c, m->data, a);
		break;
	case JMSG_ERROR:
		cell_put_error(c, m, a);
		break;
	case JMSG_EXECUTE_REPLY:
		cell_put_payload(c, m->reply.payload, a);
		break;
	default:
		break;
	}
}
