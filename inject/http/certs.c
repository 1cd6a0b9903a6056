#include "inject/http/certs.h"

#include "base/fd.h"
#include "inject/console/out.h"
#include "limits.h"
#include "net/tls_credentials.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

const struct certs_names certs_of_registry = {"ca.crt", "client.cert", "client.key"};

/* Whether host is a plain folder name: no slash, no leading dot. */
static bool certs_is_plain_name(struct str host)
{
	return host.n && host.p[0] != '.' && str_find_byte(host, '/') == host.n;
}

void certs_find(struct str host, struct buf *folder)
{
	const char *home = getenv("HOME"), *path;
	const char *const tops[][2] = {
		{home, "/.config/docker/certs.d/"}, {"", "/etc/docker/certs.d/"}};

	for (size_t i = 0; i < ARRAY_LEN(tops) && certs_is_plain_name(host); i++) {
		if (!tops[i][0])
			continue;
		buf_reset(folder);
		buf_puts(folder, tops[i][0]);
		buf_puts(folder, tops[i][1]);
		buf_str(folder, host);
		path = buf_cstr(folder);
		if (path && access(path, X_OK) == 0)
			return;
	}
	buf_reset(folder);
}

/*
 * Appends the file called name: 0; 1 if it does not exist; an error, with a line
 * printed.
 */
static int certs_read_file(struct buf *folder, const char *name, struct buf *out)
{
	struct buf path = BUF_INIT(FILE_PATH_MAX);
	const char *text;
	char piece[4096];
	ssize_t n = 0;
	int fd, r = 1;

	if (!folder->n)
		return 1;
	buf_str(&path, buf_view(folder));
	buf_fmt(&path, "/%s", name);
	text = buf_cstr(&path);
	fd = text ? fd_open(text, 0, 0) : path.err;
	if (fd >= 0) {
		while ((n = read(fd, piece, sizeof(piece))) > 0)
			buf_put(out, piece, (size_t)n);
		r = n < 0 ? -errno : out->err;
	} else if (fd != -ENOENT) {
		r = fd;
	}
	fd_close(&fd);
	explicit_bzero(piece, sizeof(piece));
	if (r < 0)
		r = out_fail("make the files in the folder of DOCKER_CERT_PATH readable "
			     "for this user",
			"cannot read %s: %s", text ? text : name, err_text(r));
	buf_free(&path);
	return r;
}

int certs_read_authority(
	struct buf *folder, const struct certs_names *names, struct buf *pem)
{
	int r = certs_read_file(folder, names->authority, pem);

	return r == 1 ? 0 : r;
}

int certs_read_pair(
	struct buf *folder, const struct certs_names *names, struct tls_credentials **own)
{
	struct buf chain = BUF_INIT(TLS_PEM_MAX), key = BUF_SECRET(TLS_PEM_MAX);
	const char *why = "";
	int r = certs_read_file(folder, names->own, &chain);

	*own = NULL;
	if (r == 0) {
		r = certs_read_file(folder, names->key, &key);
		if (r == 1)
			r = out_fail("a certificate and its key need each other: add the "
				     "missing file, or remove the other one",
				"%s in %.*s: there is no %s", names->own,
				STR_ARG(buf_view(folder)), names->key);
		if (r == 0)
			r = tls_credentials_new(
				buf_view(&chain), buf_view(&key), &why, own);
		/* certs_read_file has printed its own errors. */
		if (r && r > FAIL_BASE && r != -ENOMEM)
			r = out_fail("replace the certificate or its key (PEM)",
				"%s in %.*s: %s", names->own, STR_ARG(buf_view(folder)),
				why);
	} else if (r == 1) {
		r = 0;
	}
	buf_free(&key);
	buf_free(&chain);
	return r;
}
