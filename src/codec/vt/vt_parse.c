/*
 * The byte machine: states and byte classes of Paul Williams' parser for DEC terminals,
 * preceded by a fast path for plain text.
 */
#include "base/utf8.h"
#include "codec/vt/vt_impl.h"

enum { VT_PARAM_MAX = 9999 }; /* beyond any screen */

/* The class of a byte, in any state. */
enum class {
	CONTROL,
	BELL,
	CANCEL,
	ESC,
	MORE, /* 20-2f */
	DIGIT,
	COLON,
	SEMICOLON,
	PREFIX, /* 3c-3f */
	FINAL,  /* 40-7e except the next three */
	OPEN_CSI,
	OPEN_OSC,
	OPEN_STRING,
	DELETE,
	HIGH, /* 80-ff */
	CLASSES,
};

static const uint8_t class_of[256] = {
	[0x00 ... 0x06] = CONTROL,
	[0x07] = BELL,
	[0x08 ... 0x17] = CONTROL,
	[0x18] = CANCEL,
	[0x19] = CONTROL,
	[0x1a] = CANCEL,
	[0x1b] = ESC,
	[0x1c ... 0x1f] = CONTROL,
	[0x20 ... 0x2f] = MORE,
	['0' ... '9'] = DIGIT,
	[':'] = COLON,
	[';'] = SEMICOLON,
	[0x3c ... 0x3f] = PREFIX,
	['@' ... 'O'] = FINAL,
	['P'] = OPEN_STRING, /* DCS */
	['Q' ... 'W'] = FINAL,
	['X'] = OPEN_STRING, /* SOS */
	['Y' ... 'Z'] = FINAL,
	['['] = OPEN_CSI,
	['\\'] = FINAL,
	[']'] = OPEN_OSC,
	['^' ... '_'] = OPEN_STRING, /* PM, APC */
	['`' ... 'j'] = FINAL,
	['k'] = OPEN_STRING, /* a window's name in screen and tmux */
	['l' ... '~'] = FINAL,
	[0x7f] = DELETE,
	[0x80 ... 0xff] = HIGH,
};

enum action {
	NOTHING,
	DO_CONTROL,
	DO_TEXT,
	DO_COLLECT,
	DO_PREFIX,
	DO_PARAM,
	DO_ESCAPE,
	DO_CSI
};

struct step {
	uint8_t action;
	uint8_t next; /* enum vt_state */
};

#define ANYWHERE [CANCEL] = {NOTHING, GROUND}, [ESC] = {NOTHING, ESCAPE}
#define CONTROLS [CONTROL] = {DO_CONTROL, STAY}
#define FINALS(...) \
	[FINAL] = __VA_ARGS__, [OPEN_CSI] = __VA_ARGS__, [OPEN_OSC] = __VA_ARGS__, \
	[OPEN_STRING] = __VA_ARGS__
#define LOWS(...) \
	[DIGIT] = __VA_ARGS__, [COLON] = __VA_ARGS__, [SEMICOLON] = __VA_ARGS__, \
	[PREFIX] = __VA_ARGS__

/* A byte class that is not listed is dropped without a change of state. */
static const struct step table[STATES][CLASSES] = {
	[GROUND] = {
		ANYWHERE, CONTROLS,
		[MORE] = {DO_TEXT, STAY},
		LOWS({DO_TEXT, STAY}),
		FINALS({DO_TEXT, STAY}),
		[HIGH] = {DO_TEXT, STAY},
	},
	[ESCAPE] = {
		ANYWHERE, CONTROLS,
		[MORE] = {DO_COLLECT, ESCAPE_INTERMEDIATE},
		LOWS({DO_ESCAPE, GROUND}),
		[FINAL] = {DO_ESCAPE, GROUND},
		[OPEN_CSI] = {NOTHING, CSI_ENTRY},
		[OPEN_OSC] = {NOTHING, OSC},
		[OPEN_STRING] = {NOTHING, STRING},
	},
	[ESCAPE_INTERMEDIATE] = {
		ANYWHERE, CONTROLS,
		[MORE] = {DO_COLLECT, STAY},
		LOWS({DO_ESCAPE, GROUND}),
		FINALS({DO_ESCAPE, GROUND}),
	},
	[CSI_ENTRY] = {
		ANYWHERE, CONTROLS,
		[MORE] = {DO_COLLECT, CSI_INTERMEDIATE},
		[DIGIT] = {DO_PARAM, CSI_PARAM},
		[COLON] = {NOTHING, CSI_IGNORE},
		[SEMICOLON] = {DO_PARAM, CSI_PARAM},
		[PREFIX] = {DO_PREFIX, CSI_PARAM},
		FINALS({DO_CSI, GROUND}),
	},
	[CSI_PARAM] = {
		ANYWHERE, CONTROLS,
		[MORE] = {DO_COLLECT, CSI_INTERMEDIATE},
		[DIGIT] = {DO_PARAM, STAY},
		[COLON] = {NOTHING, CSI_IGNORE},
		[SEMICOLON] = {DO_PARAM, STAY},
		[PREFIX] = {NOTHING, CSI_IGNORE},
		FINALS({DO_CSI, GROUND}),
	},
	[CSI_INTERMEDIATE] = {
		ANYWHERE, CONTROLS,
		[MORE] = {DO_COLLECT, STAY},
		LOWS({NOTHING, CSI_IGNORE}),
		FINALS({DO_CSI, GROUND}),
	},
	[CSI_IGNORE] = {
		ANYWHERE, CONTROLS,
		FINALS({NOTHING, GROUND}),
	},
	[OSC] = {
		ANYWHERE,
		[BELL] = {NOTHING, GROUND},
	},
	[STRING] = {
		ANYWHERE,
	},
};

static void vt_enter_state(struct vt *vt, enum vt_state state)
{
	if (state == ESCAPE)
		vt->seq = (struct sequence){0};
	vt->state = state;
}

static void vt_add_param_byte(struct sequence *seq, unsigned char c)
{
	unsigned v;

	if (seq->n == VT_PARAMS)
		return;
	if (c == ';') {
		seq->n++;
		return;
	}
	v = seq->param[seq->n] * 10u + (c - '0');
	seq->param[seq->n] = (uint16_t)(v < VT_PARAM_MAX ? v : VT_PARAM_MAX);
}

/* --- Characters --- */

static const uint16_t drawing[0x7f - 0x60] = {
	0x25c6, 0x2592, 0x2409, 0x240c, 0x240d, 0x240a, 0x00b0, 0x00b1, /* ` a-g */
	0x2424, 0x240b, 0x2518, 0x2510, 0x250c, 0x2514, 0x253c, 0x23ba, /* h-o */
	0x23bb, 0x2500, 0x23bc, 0x23bd, 0x251c, 0x2524, 0x2534, 0x252c, /* p-w */
	0x2502, 0x2264, 0x2265, 0x03c0, 0x2260, 0x00a3, 0x00b7,         /* x-~ */
};

static bool vt_is_drawing(const struct vt *vt)
{
	return vt->sets.drawing >> vt->sets.shift & 1;
}

static void vt_print_text(struct vt *vt, struct str text)
{
	if (!vt_is_drawing(vt)) {
		vt_print_ascii(vt, text);
		return;
	}
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		vt_print(vt, c >= 0x60 && c < 0x7f ? drawing[c - 0x60] : c);
	}
}

/* The first byte of a character (Unicode, table 3-7). */
static void vt_begin_utf8(struct vt *vt, unsigned char c)
{
	struct partial *part = &vt->part;

	if (c < 0xc2 || c > 0xf4) {
		vt_print(vt, UTF8_REPLACEMENT);
		return;
	}
	part->need = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
	part->cp = c & (0x3fu >> part->need);
	part->lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	part->hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	vt_enter_state(vt, UTF8);
}

/*
 * A later byte of a character; false if it does not belong there and begins something
 * else.
 */
static bool vt_continue_utf8(struct vt *vt, unsigned char c)
{
	struct partial *part = &vt->part;

	if (c < part->lo || c > part->hi) {
		vt_enter_state(vt, GROUND);
		vt_print(vt, UTF8_REPLACEMENT);
		return false;
	}
	part->cp = part->cp << 6 | (c & 0x3f);
	part->lo = 0x80;
	part->hi = 0xbf;
	if (--part->need == 0) {
		vt_enter_state(vt, GROUND);
		vt_print(vt, part->cp);
	}
	return true;
}

/* --- Bytes --- */

static void vt_run_action(struct vt *vt, enum action action, unsigned char c)
{
	char text = (char)c;

	switch (action) {
	case NOTHING:
		break;
	case DO_CONTROL:
		vt_run_control(vt, c);
		break;
	case DO_TEXT:
		if (c < 0x80)
			vt_print_text(vt, str_make(&text, 1));
		else
			vt_begin_utf8(vt, c);
		break;
	case DO_COLLECT:
		vt->seq.intermediate = text;
		break;
	case DO_PREFIX:
		vt->seq.prefix = text;
		break;
	case DO_PARAM:
		vt_add_param_byte(&vt->seq, c);
		break;
	case DO_ESCAPE:
		vt_run_escape(vt, text);
		break;
	case DO_CSI:
		vt_run_csi(vt, text);
		break;
	}
}

static void vt_parse_byte(struct vt *vt, unsigned char c)
{
	struct step step;

	if (vt->state == UTF8 && vt_continue_utf8(vt, c))
		return;
	step = table[vt->state][class_of[c]];
	/* The state is entered first, because vt_begin_utf8 enters a state of its own. */
	if (step.next != STAY)
		vt_enter_state(vt, step.next);
	vt_run_action(vt, step.action, c);
}

/* The length of a character in one of the common forms, otherwise 0. */
static size_t vt_decode_common(const char *p, const char *end, uint32_t *cp)
{
	const unsigned char *c = (const unsigned char *)p;

	if (*c >= 0x20 && *c < 0x7f) {
		*cp = *c;
		return 1;
	}
	if (end - p >= 2 && *c >= 0xc2 && *c < 0xe0 && (c[1] & 0xc0) == 0x80) {
		*cp = (c[0] & 0x1fu) << 6 | (c[1] & 0x3f);
		return 2;
	}
	/* U+1000 to U+CFFF: neither long forms nor surrogates among them */
	if (end - p >= 3 && *c >= 0xe1 && *c < 0xed && (c[1] & 0xc0) == 0x80 &&
		(c[2] & 0xc0) == 0x80) {
		*cp = (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3f);
		return 3;
	}
	return 0;
}

/*
 * Prints characters that only need a place of their own in the present row; returns the
 * position of the first other character.
 */
static const char *vt_print_common(struct vt *vt, const char *p, const char *end)
{
	const char *q = p;
	struct vt_span span = {.first = 1};
	size_t n, cols = 0, left = VT_COLUMNS - vt->screen->at.x;
	uint32_t cp, last = 0;

	for (; q < end && (n = vt_decode_common(q, end, &cp)) > 0; q += n) {
		int width = 1;

		if (cp >= 0x80) {
			if (cp < span.first || cp > span.last)
				span = vt_find_span(cp);
			width = span.width;
		}
		if (width <= 0 || cols + (size_t)width > left)
			break;
		cols += (size_t)width;
		last = cp;
	}
	if (q > p)
		vt_print_run(vt, str_make(p, (size_t)(q - p)), cols, last);
	return q;
}

static const char *vt_find_text_end(const char *p, const char *end)
{
	while (p < end && *p >= 0x20 && *p < 0x7f)
		p++;
	return p;
}

/* Prints lines of plain text; returns the position of the first other byte. */
static const char *vt_print_lines(struct vt *vt, const char *p, const char *end)
{
	for (;;) {
		const char *q = vt_find_text_end(p, end);

		if (q > p)
			vt_print_text(vt, str_make(p, (size_t)(q - p)));
		p = q;
		if (p < end && (unsigned char)*p >= 0x80 && !vt_is_drawing(vt))
			p = vt_print_common(vt, p, end);
		if (end - p < 2 || p[0] != '\r' || p[1] != '\n') {
			if (p == q)
				return p;
			continue;
		}
		vt->screen->at.x = 0;
		vt_linefeed(vt);
		vt->tail = 0;
		p += 2;
		if (vt->work >= vt->limit)
			return p;
	}
}

int vt_feed_limited(struct vt *vt, struct str *bytes, uint64_t limit)
{
	const char *p = bytes->p, *end = p + bytes->n;
	int err;

	vt->limit = limit;
	while (p < end && vt->work < limit) {
		if (vt->state == GROUND) {
			p = vt_print_lines(vt, p, end);
			if (p == end || vt->work >= limit)
				break;
		}
		vt_parse_byte(vt, (unsigned char)*p++);
	}
	*bytes = str_skip(*bytes, (size_t)(p - bytes->p));
	err = vt->err;
	vt->err = 0;
	return err ? err : bytes->n > 0;
}
