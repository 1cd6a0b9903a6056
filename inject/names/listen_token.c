#include "inject/names/listen_token.h"

#include "limits.h"

/* A character of bearer tokens (RFC 6750) that no name has. */
#define SEPARATOR '~'

static const char sandbox_label[] = "od-runtime sandbox token"; /* its NUL counts */
static const char operator_label[] = "od-runtime operator token";

void listen_tokens_init(struct listen_tokens *t, struct str secret)
{
	hmac_key_init(&t->key, secret);
}

bool listen_name_is_valid(struct str name)
{
	static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789._-";

	for (size_t i = 0; i < name.n; i++)
		if (!memchr(legal, name.p[i], sizeof(legal) - 1))
			return false;
	return name.n && name.n <= CONNECT_ID_MAX && name.p[0] != '.';
}

static void listen_token_compute_sandbox(
	const struct listen_tokens *t, struct str name, uint8_t out[SHA256_LEN])
{
	struct sha256 h;

	hmac_begin(&t->key, &h);
	sha256_update(&h, sandbox_label, sizeof(sandbox_label));
	sha256_update(&h, name.p, name.n);
	hmac_end(&t->key, &h, out);
}

static void listen_token_compute_operator(
	const struct listen_tokens *t, uint8_t out[SHA256_LEN])
{
	struct sha256 h;

	hmac_begin(&t->key, &h);
	sha256_update(&h, operator_label, sizeof(operator_label) - 1);
	hmac_end(&t->key, &h, out);
}

static void listen_token_put_hex(struct buf *out, const uint8_t mac[SHA256_LEN])
{
	char hex[SHA256_HEX + 1];

	hex_encode(mac, SHA256_LEN, hex);
	buf_puts(out, hex);
}

void listen_token_put_sandbox(
	const struct listen_tokens *t, struct str name, struct buf *out)
{
	uint8_t mac[SHA256_LEN];

	listen_token_compute_sandbox(t, name, mac);
	buf_str(out, name);
	buf_putc(out, SEPARATOR);
	listen_token_put_hex(out, mac);
}

void listen_token_put_operator(const struct listen_tokens *t, struct buf *out)
{
	uint8_t mac[SHA256_LEN];

	listen_token_compute_operator(t, mac);
	listen_token_put_hex(out, mac);
}

static bool listen_token_is_mac(struct str hex, const uint8_t want[SHA256_LEN])
{
	uint8_t got[SHA256_LEN];

	return hex_decode(hex, got, sizeof(got)) == 0 &&
		hash_equal(got, want, sizeof(got));
}

bool listen_token_is_sandbox(
	const struct listen_tokens *t, struct str token, struct str *name)
{
	uint8_t want[SHA256_LEN];

	*name = str_make(token.p, str_find_byte(token, SEPARATOR));
	if (!listen_name_is_valid(*name))
		return false;
	listen_token_compute_sandbox(t, *name, want);
	return listen_token_is_mac(str_skip(token, name->n + 1), want);
}

bool listen_token_is_operator(const struct listen_tokens *t, struct str token)
{
	uint8_t want[SHA256_LEN];

	listen_token_compute_operator(t, want);
	return listen_token_is_mac(token, want);
}
