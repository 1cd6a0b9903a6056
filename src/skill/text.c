#include "skill/text.h"

#include "base/fd.h"
#include "base/utf8.h"
#include "fs/load.h"
#include "fs/textfile.h"
#include "limits.h"

#include <fcntl.h>

static void skill_text_drop_invalid(struct buf *b)
{
	struct str rest = buf_view(b);
	size_t kept = 0;

	while (rest.n) {
		size_t good = utf8_prefix(rest);
		struct str bad = str_skip(rest, good);

		memmove(b->p + kept, rest.p, good);
		kept += good;
		rest = bad;
		if (bad.n)
			utf8_next(&rest);
	}
	b->n = kept;
}

int skill_read_text(int dir, const char *path, bool ignore, struct buf *out)
{
	struct stat st;
	int fd = load_open(dir, path, O_RDONLY, &st);
	int r = fd;

	if (fd >= 0)
		r = load_read_part(fd, 0, SKILL_FILE_MAX + 1, out);
	fd_close(&fd);
	if (r < 0)
		return r;
	if (out->n > SKILL_FILE_MAX)
		return ERR_LIMIT;
	if (ignore)
		skill_text_drop_invalid(out);
	else if (!utf8_is_valid(buf_view(out)))
		return ERR_UTF8;
	if (out->n)
		out->n = text_convert_newlines(out->p, out->n);
	return 0;
}

struct str skill_cut_line(struct str *rest)
{
	size_t n = str_find_byte(*rest, '\n');
	struct str line = str_make(rest->p, n + (n < rest->n));

	*rest = str_skip(*rest, line.n);
	return line;
}

static bool skill_text_is_line_end(uint32_t cp)
{
	return (cp >= '\n' && cp <= '\f') || (cp >= 0x1c && cp <= 0x1e) || cp == 0x85 ||
		cp == 0x2028 || cp == 0x2029;
}

struct str skill_cut_split_line(struct str *rest)
{
	const char *begin = rest->p;

	while (rest->n && !skill_text_is_line_end(utf8_next(rest)))
		;
	return str_make(begin, (size_t)(rest->p - begin));
}
