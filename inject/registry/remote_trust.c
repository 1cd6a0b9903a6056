/* The certificate authorities and the certificate for connections to a registry. */
#include "inject/registry/remote_trust.h"

#include "base/fd.h"
#include "inject/console/out.h"
#include "inject/http/certs.h"
#include "net/tls_credentials.h"
#include "net/tls_trust.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int remote_trust_read_file(const char *path, struct buf *out)
{
	int fd = fd_open(path, 0, 0);
	char *room;
	ssize_t n;

	if (fd < 0)
		return fd;
	while ((room = buf_reserve(out, 65536)) && (n = read(fd, room, 65536)) > 0)
		buf_commit(out, (size_t)n);
	n = room && n < 0 ? -errno : 0;
	fd_close(&fd);
	return n ? (int)n : out->err;
}

/* The bundle of certificate authorities of this machine; NULL: none was found. */
static const char *remote_trust_find_bundle(void)
{
	static const char *const usual[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch */
		"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
		"/etc/ssl/ca-bundle.pem",             /* SUSE */
		"/etc/ssl/cert.pem",                  /* Alpine, BSD */
	};
	const char *set = getenv("SSL_CERT_FILE");

	if (set && *set)
		return set;
	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		if (access(usual[i], R_OK) == 0)
			return usual[i];
	return NULL;
}

/* Reads the authorities of --ca or of this machine, and of the registry's own folder. */
static int remote_trust_read_authorities(struct remote *r, bool home, struct buf *pem)
{
	const char *path = r->conf.ca ? r->conf.ca : remote_trust_find_bundle();
	int err = path ? remote_trust_read_file(path, pem) : 0;

	if (err)
		return out_fail("give a file of certificate authorities (PEM) with --ca",
			"cannot read %s: %s", path, err_text(err));
	buf_putc(pem, '\n');
	if (home && !r->conf.ca)
		err = certs_read_authority(&r->certs, &certs_of_registry, pem);
	if (!err && pem->n == 1)
		err = out_fail("give a file of certificate authorities (PEM) with --ca",
			"this machine has no file of certificate authorities");
	return err ? err : pem->err;
}

int remote_load_trust(struct remote *r, bool home, struct tls_trust **trust)
{
	struct buf pem = BUF_INIT(AUTHORITIES_FILE_MAX);
	const char *why = "";
	int err;

	if (*trust)
		return 0;
	err = remote_trust_read_authorities(r, home, &pem);
	if (!err && home)
		err = certs_read_pair(&r->certs, &certs_of_registry, &r->own);
	if (!err && tls_trust_new(buf_view(&pem), NULL, &why, trust))
		err = out_fail(
			"give another file of certificate authorities (PEM) with --ca",
			"cannot use the certificate authorities of %s: %s",
			r->conf.ca ? r->conf.ca : "this machine", why);
	if (!err && home)
		tls_trust_prove(*trust, r->own);
	buf_free(&pem);
	return err;
}
