#include "server/files/transfer_io.h"

#include "base/fd.h"
#include "limits.h"
#include "proc/job.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of the first piece, doubling: a client waits for it. */
enum { TRANSFER_FIRST = 4096 };

int transfer_read(struct transfer_io *io, struct str *piece)
{
	ssize_t n;

	do
		n = read(io->in, io->piece, TRANSFER_PIECE);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		*piece = str_make(io->piece, (size_t)n);
	if (n < 0)
		return -errno;
	return n > 0 ? 1 : job_is_input_complete() ? 0 : ERR_CLOSED;
}

int transfer_begin(struct transfer_io *io, const struct transfer_head *head)
{
	io->begun = true;
	return fd_write_all(io->out, head, sizeof(*head));
}

int transfer_flush(struct transfer_io *io)
{
	int r = io->buf.err;

	if (!r)
		r = fd_write_all(io->out, io->buf.p, io->buf.n);
	buf_reset(&io->buf);
	return r;
}

int transfer_flush_large(struct transfer_io *io)
{
	if (io->buf.n < io->flush_size && !io->buf.err)
		return 0;
	/* The first entries are sent early, then the pieces grow. */
	if (io->flush_size < TRANSFER_PIECE)
		io->flush_size *= 2;
	return transfer_flush(io);
}

int transfer_reply_json(struct transfer_io *io, unsigned status)
{
	struct transfer_head head = {
		.status = status, .length = io->buf.n, .type = API_JSON};
	int r;

	if (io->buf.err)
		return io->buf.err;
	r = transfer_begin(io, &head);
	return r ? r : transfer_flush(io);
}

int transfer_fail(struct transfer_io *io, unsigned status, struct str words)
{
	struct jw w;

	/* The reply has begun, so the connection is cut instead. */
	if (io->begun)
		return -EIO;
	buf_reset(&io->buf);
	jw_init(&w, &io->buf);
	jw_object(&w);
	jw_key(&w, "detail");
	jw_str(&w, words);
	if (io->damaged) {
		jw_key(&w, "damaged");
		jw_bool(&w, true);
	}
	jw_end(&w);
	return transfer_reply_json(io, status);
}

int transfer_fail_errno(struct transfer_io *io, int err, struct str path)
{
	struct buf words = BUF_INIT(FILE_WORDS_MAX);
	int r;

	if (err > -4096)
		buf_fmt(&words, "[Errno %d] ", -err);
	buf_fmt(&words, "%s: '%.*s'", err_text(err), STR_ARG(path));
	r = transfer_fail(io, err == -ENOMEM ? 503 : 500, buf_view(&words));
	buf_free(&words);
	return r;
}

void transfer_add_field(struct transfer_head *head, const char *name, struct str value)
{
	for (size_t i = 0; i < ARRAY_LEN(head->fields); i++) {
		struct transfer_add_field *f = &head->fields[i];

		if (f->name[0])
			continue;
		if (strlen(name) >= sizeof(f->name) || value.n >= sizeof(f->value))
			return;
		memcpy(f->name, name, strlen(name) + 1);
		memcpy(f->value, value.p, value.n);
		f->value[value.n] = '\0';
		return;
	}
}

int transfer_io_run(const struct transfer_request *ask, int in, int out)
{
	static char piece[TRANSFER_PIECE];
	struct transfer_io io = {
		.in = in, .out = out, .flush_size = TRANSFER_FIRST, .piece = piece};
	int r;

	buf_init(&io.buf, HTTP_REPLY_MAX);
	r = ask->work(&io, ask);
	buf_free(&io.buf);
	return r;
}
