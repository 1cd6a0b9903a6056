#include "srv/credentials.h"

#include "base/fd.h"
#include "base/log.h"
#include "file/load.h"
#include "limits.h"

#include <fcntl.h>

static int text_load(const char *option, const char *path, struct buf *text)
{
	struct stat st;
	int fd = load_open(AT_FDCWD, path, O_RDONLY, &st);
	int r = fd < 0 ? fd : 0;

	/* All room at once: a buffer that grows would leave copies of the key. */
	if (!r && !buf_room(text, (size_t)st.st_size + 1))
		r = text->err;
	if (!r)
		r = load_part(fd, 0, (size_t)st.st_size, text);
	fd_close(&fd);
	if (r)
		log_error("%s %s: %s", option, path,
			r == ERR_TYPE ? load_kind(AT_FDCWD, path) : err_text(r));
	return r;
}

static void text_free(struct buf *text)
{
	if (text->p)
		explicit_bzero(text->p, text->cap);
	buf_free(text);
}

int credentials_load(const struct config *c, struct tls_server **out)
{
	struct buf chain = BUF_INIT(TLS_PEM_MAX), key = BUF_INIT(TLS_PEM_MAX);
	const char *why = NULL;
	int r;

	if (!c->tls_cert) {
		*out = NULL;
		return 0;
	}
	r = text_load("--tls-cert", c->tls_cert, &chain);
	if (!r)
		r = text_load("--tls-key", c->tls_key, &key);
	if (!r)
		r = tls_server_new(buf_view(&chain), buf_view(&key), &why, out);
	if (why && r)
		log_error("--tls-cert %s --tls-key %s: %s", c->tls_cert, c->tls_key, why);
	text_free(&key);
	text_free(&chain);
	return r;
}
