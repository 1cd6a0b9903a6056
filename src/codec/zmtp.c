#include "codec/zmtp.h"

#include "limits.h"

#include <assert.h>

enum { GREETING = 64, MECHANISM_AT = 12, MECHANISM = 20, AS_SERVER_AT = 32 };
enum { MORE = 1, LONG = 2, COMMAND = 4, RESERVED = 0xf8 };

struct zmtp_role {
	const char *name;
	const char *peers[3];
	bool subscribes;
	bool has_identity;
	bool empty_first; /* each message starts with an empty part */
};

static const struct zmtp_role roles[] = {
	[ZMTP_DEALER] = {"DEALER", {"ROUTER", "DEALER", "REP"}, .has_identity = true},
	[ZMTP_SUB] = {"SUB", {"PUB", "XPUB"}, .subscribes = true},
	[ZMTP_REQ] = {"REQ", {"REP", "ROUTER"}, .has_identity = true,
		.empty_first = true},
};

/* --- Writing -------------------------------------------------------------------- */

static void zmtp_put_uint(struct buf *b, uint64_t v, unsigned bytes)
{
	while (bytes-- > 0)
		buf_putc(b, (char)(v >> (8 * bytes)));
}

static void zmtp_put_frame_head(struct buf *b, unsigned flags, size_t n)
{
	bool is_long = n > 255;

	buf_putc(b, (char)(flags | (is_long ? LONG : 0)));
	zmtp_put_uint(b, n, is_long ? 8 : 1);
}

static void zmtp_put_property(struct buf *b, const char *name, struct str value)
{
	size_t n = strlen(name);

	buf_putc(b, (char)n);
	buf_put(b, name, n);
	zmtp_put_uint(b, value.n, 4);
	buf_str(b, value);
}

static void zmtp_put_greeting(struct buf *b)
{
	static const char head[MECHANISM_AT] = "\xff\0\0\0\0\0\0\0\0\x7f\x03";
	char rest[GREETING - MECHANISM_AT] = "NULL";

	buf_put(b, head, sizeof(head));
	buf_put(b, rest, sizeof(rest));
}

static void zmtp_put_ready(struct zmtp *z)
{
	static const char name[] = "\5READY";
	static const char type[] = "Socket-Type", identity[] = "Identity";
	/* sizeof counts a literal's NUL, which stands for the length byte. */
	size_t n = sizeof(name) - 1 + sizeof(type) + 4 + strlen(z->role->name);

	if (z->role->has_identity)
		n += sizeof(identity) + 4 + z->identity_n;
	zmtp_put_frame_head(&z->out, COMMAND, n);
	buf_puts(&z->out, name);
	zmtp_put_property(&z->out, type, str_c(z->role->name));
	if (z->role->has_identity)
		zmtp_put_property(
			&z->out, identity, str_make(z->identity, z->identity_n));
}

static void zmtp_put_part(struct buf *b, struct str part, bool more)
{
	zmtp_put_frame_head(b, more ? MORE : 0, part.n);
	buf_str(b, part);
}

void zmtp_send(struct zmtp *z, const struct str *parts, size_t n)
{
	assert(z->open && n > 0);
	if (z->role->empty_first)
		zmtp_put_part(&z->out, STR(""), true);
	for (size_t i = 0; i < n; i++)
		zmtp_put_part(&z->out, parts[i], i + 1 < n);
}

/* --- Reading -------------------------------------------------------------------- */

static enum zmtp_step zmtp_refuse_with(struct zmtp *z, const char *why, struct str said)
{
	z->state = ZMTP_S_FAILED;
	z->reason = why;
	z->peer_reason = said;
	return ZMTP_FAILED;
}

static enum zmtp_step zmtp_refuse(struct zmtp *z, const char *why)
{
	return zmtp_refuse_with(z, why, STR(""));
}

/*
 * The error of the byte at this offset of a greeting, or NULL. The greeting is checked
 * byte by byte: an older peer waits for ours after ten bytes, and both would wait
 * forever.
 */
static const char *zmtp_check_greeting(size_t at, uint8_t c)
{
	static const char mechanism[MECHANISM] = "NULL";

	if ((at == 0 && c != 0xff) || (at == 9 && c != 0x7f))
		return "it does not greet as ZeroMQ does";
	if (at == 10 && c < 3)
		return "it speaks a version of ZMTP before 3.0";
	if (at >= MECHANISM_AT && at < MECHANISM_AT + MECHANISM &&
		c != (uint8_t)mechanism[at - MECHANISM_AT])
		return "it wants another security mechanism than NULL";
	if (at == AS_SERVER_AT && c > 1)
		return "its greeting is neither that of a client nor of a server";
	return NULL;
}

static enum zmtp_step zmtp_read_greeting(struct zmtp *z, struct str *in)
{
	while (in->n > 0 && z->got < GREETING) {
		const char *fault = zmtp_check_greeting(z->got, (uint8_t)*in->p);

		if (fault)
			return zmtp_refuse(z, fault);
		z->got++;
		*in = str_skip(*in, 1);
	}
	if (z->got == GREETING) {
		zmtp_put_ready(z);
		z->state = ZMTP_S_HEAD;
		z->got = 0;
	}
	return ZMTP_MORE;
}

static const char *zmtp_check_flags(const struct zmtp *z, uint8_t flags)
{
	if (flags & RESERVED)
		return "a frame has flags that do not exist";
	if ((flags & COMMAND) && (flags & MORE))
		return "a command is said to go on";
	if (!(flags & COMMAND) && !z->open)
		return "a message comes before READY";
	return NULL;
}

static uint64_t zmtp_get_frame_size(const uint8_t *head, size_t n)
{
	uint64_t size = 0;

	for (size_t i = 1; i < n; i++)
		size = size << 8 | head[i];
	return size;
}

/* Whether this frame's bytes are kept: a message beyond the caps is dropped. */
static bool zmtp_admit_frame(struct zmtp *z, uint64_t size)
{
	if (z->dropped || z->parts_n == ZMTP_PARTS_MAX ||
		size > ZMTP_MESSAGE_MAX - z->bytes) {
		z->dropped = true;
		buf_reset(&z->in);
	}
	return !z->dropped;
}

static enum zmtp_step zmtp_begin_body(struct zmtp *z, size_t head_n)
{
	uint64_t size = zmtp_get_frame_size(z->head, head_n);

	if (size > INT64_MAX)
		return zmtp_refuse(z, "a frame is larger than frames can be");
	if (z->head[0] & COMMAND) {
		if (size > ZMTP_COMMAND_MAX)
			return zmtp_refuse(z, "a command is too large");
		z->command_at = z->in.n;
	} else {
		zmtp_admit_frame(z, size);
		/*
		 * The count is only for messages to humans: a malicious peer may let it
		 * wrap.
		 */
		z->bytes += size;
	}
	z->left = size;
	z->state = ZMTP_S_BODY;
	return ZMTP_MORE;
}

static enum zmtp_step zmtp_read_head(struct zmtp *z, struct str *in)
{
	while (in->n > 0) {
		const char *fault;
		size_t want;

		z->head[z->got++] = (uint8_t)*in->p;
		*in = str_skip(*in, 1);
		fault = z->got == 1 ? zmtp_check_flags(z, z->head[0]) : NULL;
		if (fault)
			return zmtp_refuse(z, fault);
		want = z->head[0] & LONG ? 9 : 2;
		if (z->got == want) {
			z->got = 0;
			return zmtp_begin_body(z, want);
		}
	}
	return ZMTP_MORE;
}

/* --- Commands ------------------------------------------------------------------- */

/* Cuts a field off the front: a length of so many bytes, then the content. */
static bool zmtp_read_field(struct str *rest, unsigned length, struct str *out)
{
	uint64_t n = 0;

	if (rest->n < length)
		return false;
	for (unsigned i = 0; i < length; i++)
		n = n << 8 | (uint8_t)rest->p[i];
	if (n > rest->n - length)
		return false;
	*out = str_make(rest->p + length, (size_t)n);
	*rest = str_skip(*rest, length + (size_t)n);
	return true;
}

static bool zmtp_is_compatible(const struct zmtp_role *role, struct str peer)
{
	for (size_t i = 0; i < ARRAY_LEN(role->peers); i++)
		if (role->peers[i] && str_eq(peer, str_c(role->peers[i])))
			return true;
	return false;
}

static enum zmtp_step zmtp_read_ready(struct zmtp *z, struct str rest)
{
	static const struct str everything[] = {{"\1", 1}};
	struct str name, value, type = STR("");

	if (z->open)
		return zmtp_refuse(z, "a second READY");
	while (rest.n > 0) {
		if (!zmtp_read_field(&rest, 1, &name) || name.n == 0 ||
			!zmtp_read_field(&rest, 4, &value))
			return zmtp_refuse(z, "the properties of READY are cut short");
		if (!str_eq_nocase(name, STR("Socket-Type")))
			continue;
		if (type.n > 0)
			return zmtp_refuse(z, "READY names two socket types");
		type = value;
	}
	if (!zmtp_is_compatible(z->role, type))
		return zmtp_refuse_with(z, "its socket type does not go with ours", type);
	z->open = true;
	if (z->role->subscribes)
		zmtp_send(z, everything, 1);
	return ZMTP_READY;
}

static enum zmtp_step zmtp_read_ping(struct zmtp *z, struct str rest)
{
	enum { TTL = 2, CONTEXT_MAX = 16 };
	static const char pong[] = "\4PONG";

	if (rest.n < TTL || rest.n > TTL + CONTEXT_MAX)
		return zmtp_refuse(z, "a PING of the wrong length");
	/* A peer that sends PINGs and never reads must not fill the memory. */
	if (z->out.n > ZMTP_COMMAND_MAX)
		return ZMTP_MORE;
	rest = str_skip(rest, TTL);
	zmtp_put_frame_head(&z->out, COMMAND, sizeof(pong) - 1 + rest.n);
	buf_puts(&z->out, pong);
	buf_str(&z->out, rest);
	return ZMTP_MORE;
}

static enum zmtp_step zmtp_read_command(struct zmtp *z, struct str body)
{
	struct str name, reason;

	if (!zmtp_read_field(&body, 1, &name) || name.n == 0)
		return zmtp_refuse(z, "a command has no name");
	if (str_eq_nocase(name, STR("READY")))
		return zmtp_read_ready(z, body);
	if (str_eq_nocase(name, STR("ERROR"))) {
		if (!zmtp_read_field(&body, 1, &reason) || body.n > 0)
			return zmtp_refuse(z, "an ERROR of the wrong length");
		return zmtp_refuse_with(z, "it gives up", reason);
	}
	if (!z->open)
		return zmtp_refuse(z, "another command comes before READY");
	return str_eq_nocase(name, STR("PING")) ? zmtp_read_ping(z, body) : ZMTP_MORE;
}

/* --- Messages ------------------------------------------------------------------- */

static void zmtp_list_parts(const struct zmtp *z, struct zmtp_message *m)
{
	/* The empty first part that a REQ receives is not passed to the caller. */
	size_t first = z->role->empty_first ? 1 : 0;

	m->parts_n = 0;
	for (size_t i = first; i < z->parts_n; i++) {
		size_t at = i ? z->ends[i - 1] : 0;

		m->parts[m->parts_n++] = str_make(z->in.p + at, z->ends[i] - at);
	}
}

static enum zmtp_step zmtp_end_part(struct zmtp *z, struct zmtp_message *m)
{
	if (!z->dropped)
		z->ends[z->parts_n++] = z->in.n;
	if (z->head[0] & MORE)
		return ZMTP_MORE;
	m->bytes = z->bytes;
	m->parts_n = 0;
	z->delivered = true;
	if (z->dropped)
		return ZMTP_DROPPED;
	if (z->role->empty_first && (z->ends[0] != 0 || z->parts_n < 2))
		return zmtp_refuse(z, "a reply does not begin with an empty part");
	zmtp_list_parts(z, m);
	return ZMTP_MESSAGE;
}

static enum zmtp_step zmtp_end_body(struct zmtp *z, struct zmtp_message *m)
{
	enum zmtp_step step;

	z->state = ZMTP_S_HEAD;
	if (!(z->head[0] & COMMAND))
		return zmtp_end_part(z, m);
	step = zmtp_read_command(z, str_skip(buf_view(&z->in), z->command_at));
	/* After a refusal the command stays in the buffer, since said points into it. */
	if (step != ZMTP_FAILED)
		z->in.n = z->command_at;
	return step;
}

static enum zmtp_step zmtp_read_body(
	struct zmtp *z, struct str *in, struct zmtp_message *m)
{
	size_t n = in->n < z->left ? in->n : (size_t)z->left;

	if (!z->dropped || (z->head[0] & COMMAND))
		buf_put(&z->in, in->p, n);
	if (z->in.err)
		return zmtp_refuse(z, "there is no memory for what it sends");
	*in = str_skip(*in, n);
	z->left -= n;
	return z->left == 0 ? zmtp_end_body(z, m) : ZMTP_MORE;
}

/* Releases the returned message; the memory of a large buffer is freed. */
static void zmtp_release_message(struct zmtp *z)
{
	z->delivered = false;
	z->dropped = false;
	z->parts_n = 0;
	z->bytes = 0;
	if (z->in.cap > ZMTP_KEEP_MAX)
		buf_free(&z->in);
	else
		buf_reset(&z->in);
}

static enum zmtp_step zmtp_read_input(
	struct zmtp *z, struct str *in, struct zmtp_message *m)
{
	switch (z->state) {
	case ZMTP_S_GREETING:
		return zmtp_read_greeting(z, in);
	case ZMTP_S_HEAD:
		return zmtp_read_head(z, in);
	case ZMTP_S_BODY:
		return zmtp_read_body(z, in, m);
	case ZMTP_S_FAILED:
		break;
	}
	return ZMTP_FAILED;
}

enum zmtp_step zmtp_next(struct zmtp *z, struct str *in, struct zmtp_message *m)
{
	enum zmtp_step step = ZMTP_MORE;

	if (z->delivered && z->state != ZMTP_S_FAILED)
		zmtp_release_message(z);
	/*
	 * A frame with an empty body is complete after its head, without further input.
	 */
	while (step == ZMTP_MORE &&
		(in->n > 0 || z->state == ZMTP_S_FAILED ||
			(z->state == ZMTP_S_BODY && z->left == 0)))
		step = zmtp_read_input(z, in, m);
	return step;
}

void zmtp_init(struct zmtp *z, enum zmtp_type type, struct str identity)
{
	*z = (struct zmtp){
		.role = &roles[type],
		.out = BUF_INIT(ZMTP_OUT_MAX),
		.in = BUF_INIT(ZMTP_MESSAGE_MAX + ZMTP_COMMAND_MAX),
		.reason = "",
		.state = ZMTP_S_GREETING,
	};
	z->identity_n = identity.n < ZMTP_IDENTITY_MAX ? identity.n : ZMTP_IDENTITY_MAX;
	if (z->identity_n)
		memcpy(z->identity, identity.p, z->identity_n);
	zmtp_put_greeting(&z->out);
}

void zmtp_free(struct zmtp *z)
{
	buf_free(&z->in);
	buf_free(&z->out);
}
