#include "server/credentials.h"

#include "base/fd.h"
#include "base/log.h"
#include "fs/load.h"
#include "limits.h"
#include "server/restored.h"

#include <fcntl.h>

enum { DIAL_CA_MAX = 4 << 20 }; /* bytes; the authorities of a browser have 220 KB */

int credentials_text(const char *option, const char *path, struct buf *text)
{
	struct stat st;
	int fd = load_open(AT_FDCWD, path, O_RDONLY, &st);
	int r = fd < 0 ? fd : 0;

	/*
	 * Allocates everything at once: growing the buffer would leave copies of the key.
	 */
	if (!r && !buf_reserve(text, (size_t)st.st_size + 1))
		r = text->err;
	if (!r && text->secret && st.st_mode & S_IRWXO)
		log_warn("%s %s: other users can access the file (mode %03o): run chmod "
			 "600 on it",
			option, path, (unsigned)st.st_mode & 0777u);
	if (!r)
		r = load_read_part(fd, 0, (size_t)st.st_size, text);
	fd_close(&fd);
	if (r)
		log_error("%s %s: %s", option, path,
			r == ERR_TYPE ? load_describe_kind(AT_FDCWD, path) : err_text(r));
	return r;
}

int credentials_pair(const char *const option[2], const char *const path[2],
	struct tls_credentials **out)
{
	struct buf chain = BUF_INIT(TLS_PEM_MAX), key = BUF_SECRET(TLS_PEM_MAX);
	const char *why = NULL;
	int r = credentials_text(option[0], path[0], &chain);

	if (!r)
		r = credentials_text(option[1], path[1], &key);
	if (!r)
		r = tls_credentials_new(buf_view(&chain), buf_view(&key), &why, out);
	if (why && r)
		log_error("%s %s %s %s: %s", option[0], path[0], option[1], path[1], why);
	buf_free(&key);
	buf_free(&chain);
	return r;
}

int credentials_trust(
	const char *option, const char *path, const uint8_t *pin, struct tls_trust **out)
{
	struct buf text = BUF_INIT(DIAL_CA_MAX);
	const char *why = NULL;
	int r = path ? credentials_text(option, path, &text) : 0;

	if (!r)
		r = tls_trust_new(buf_view(&text), pin, &why, out);
	if (r && why)
		log_error("%s: %s", option, why);
	buf_free(&text);
	return r;
}

static int credentials_make_secret(struct store *store, uint8_t secret[TLS_SECRET])
{
	int fd = fd_create_memory("od-tls", 0);
	int r = fd < 0 ? fd : random_bytes(secret, TLS_SECRET);

	if (!r)
		r = fd_write_all(fd, secret, TLS_SECRET);
	if (!r)
		r = store_put(store, RESTORED_TLS, fd, 0);
	fd_close(&fd);
	return r;
}

static int credentials_make_self(
	struct store *store, int kept, struct tls_credentials **out)
{
	uint8_t secret[TLS_SECRET], pin[SHA256_LEN];
	char hex[SHA256_HEX + 1];
	int r = 0;

	if (kept < 0 || fd_read_all_at(kept, 0, secret, sizeof(secret)))
		r = credentials_make_secret(store, secret);
	if (!r)
		r = tls_credentials_self(secret, out, pin);
	explicit_bzero(secret, sizeof(secret));
	if (r) {
		log_error("--tls-self: %s", err_text(r));
		return r;
	}
	hex_encode(pin, sizeof(pin), hex);
	log_info(TLS_PIN_IS "%s", hex);
	return 0;
}

int credentials_load(const struct config *c, struct store *store, int secret,
	struct tls_credentials **out)
{
	static const char *const options[] = {"--tls-cert", "--tls-key"};
	struct tls_trust *clients;
	int r = 0;

	*out = NULL;
	if (c->tls_self)
		r = credentials_make_self(store, secret, out);
	else if (c->tls_cert)
		r = credentials_pair(
			options, (const char *[]){c->tls_cert, c->tls_key}, out);
	if (r || !c->tls_client_ca)
		return r;
	r = credentials_trust("--tls-client-ca", c->tls_client_ca, NULL, &clients);
	if (!r)
		tls_credentials_demand(*out, clients);
	return r;
}
