#include "net/tls_pem.h"

#include "net/tls.h"

static void tls_pem_append(void *out, const void *p, size_t n)
{
	buf_put(out, p, n);
}

int tls_pem_next(
	br_pem_decoder_context *d, struct str *text, struct buf *der, const char **name)
{
	bool inside = false;

	while (text->n) {
		*text = str_skip(*text, br_pem_decoder_push(d, text->p, text->n));
		switch (br_pem_decoder_event(d)) {
		case BR_PEM_BEGIN_OBJ:
			inside = true;
			br_pem_decoder_setdest(d, tls_pem_append, der);
			break;
		case BR_PEM_END_OBJ:
			*name = br_pem_decoder_name(d);
			return der->err;
		case BR_PEM_ERROR:
			return ERR_SYNTAX;
		}
	}
	return inside ? ERR_SYNTAX : TLS_END;
}

bool tls_pem_is_certificate(const char *name)
{
	return strcmp(name, "CERTIFICATE") == 0 || strcmp(name, "X509 CERTIFICATE") == 0;
}
