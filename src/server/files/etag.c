#include "server/files/etag.h"

#include "base/fd.h"
#include "limits.h"

#include <stdio.h>

int etag_hash(int fd, char hex[SHA256_HEX + 1])
{
	static char piece[TRANSFER_PIECE];
	uint8_t digest[SHA256_LEN];
	struct sha256 h;
	uint64_t at = 0;
	ssize_t n;

	sha256_init(&h);
	while ((n = fd_read_at(fd, at, piece, sizeof(piece))) > 0) {
		sha256_update(&h, piece, (size_t)n);
		at += (uint64_t)n;
	}
	if (n < 0)
		return (int)n;
	sha256_final(&h, digest);
	hex_encode(digest, sizeof(digest), hex);
	return 0;
}

void etag_add(struct transfer_head *head, const char *hex)
{
	char tag[SHA256_HEX + 3];

	snprintf(tag, sizeof(tag), "\"%s\"", hex);
	transfer_add_field(head, "etag", str_c(tag));
}

bool etag_is_any(struct str field)
{
	return str_eq(str_trim(field, " \t"), STR("*"));
}

bool etag_is_list(struct str field)
{
	return field.n && !etag_is_any(field);
}

/* Whether a field If-Match or If-None-Match lists the file with this hash. */
static bool etag_is_listed(struct str field, const char *hex)
{
	if (etag_is_any(field))
		return true;
	while (field.n) {
		struct str tag = str_trim(str_cut(&field, ','), " \t");

		/* A proxy that compresses a reply makes its tag weak. */
		if (str_starts(tag, STR("W/")))
			tag = str_skip(tag, 2);
		if (hex[0] && str_eq(str_trim(tag, "\""), str_c(hex)))
			return true;
	}
	return false;
}

bool etag_allows(const struct transfer_request *ask, const char *hex)
{
	return (!ask->match.n || etag_is_listed(ask->match, hex)) &&
		!(ask->none_match.n && etag_is_listed(ask->none_match, hex));
}

int etag_fail(struct transfer_io *io)
{
	return transfer_fail(io, 412, STR("The file does not have the expected ETag."));
}
