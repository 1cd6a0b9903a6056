/*
 * Conditions of any words: If-Match and, behind the first line end, If-None-Match. They
 * hold together, and know no file but the one whose hash they name.
 */
#include "server/files/etag.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char hash[] =
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static const char other[] =
	"f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static bool matches(struct str field, const char *hex)
{
	return etag_allows(&(struct transfer_request){.match = field}, hex);
}

static bool passes(struct str field, const char *hex)
{
	return etag_allows(&(struct transfer_request){.none_match = field}, hex);
}

static void check_more(struct str field)
{
	struct buf b = BUF_INIT(1 << 20);

	buf_str(&b, field);
	buf_fmt(&b, ", W/\"%s\"", hash);
	assert(!b.err && etag_is_list(buf_view(&b)));
	assert(matches(buf_view(&b), hash) && !passes(buf_view(&b), hash));
	buf_free(&b);
}

static void check_field(struct str field)
{
	static const char *const hashes[] = {hash, other, ""};

	assert(!(etag_is_any(field) && etag_is_list(field)));
	assert(field.n ? etag_is_any(field) || etag_is_list(field)
		       : !etag_is_any(field) && !etag_is_list(field));
	for (size_t i = 0; i < ARRAY_LEN(hashes); i++) {
		struct str hex = str_c(hashes[i]);

		assert(!field.n || matches(field, hex.p) != passes(field, hex.p));
		assert(field.n || (matches(field, hex.p) && passes(field, hex.p)));
		if (etag_is_any(field))
			assert(matches(field, hex.p));
		else if (field.n && matches(field, hex.p))
			assert(hex.n && str_find(field, hex) < field.n);
	}
	check_more(field);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	struct str rest = str_make(copy, size);
	struct transfer_request ask;

	if (size)
		memcpy(copy, data, size);
	ask.match = str_cut(&rest, '\n');
	ask.none_match = rest;
	check_field(ask.match);
	check_field(ask.none_match);
	assert(etag_allows(&ask, hash) ==
		(matches(ask.match, hash) && passes(ask.none_match, hash)));
	free(copy);
	return 0;
}
