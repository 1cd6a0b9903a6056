#include "codec/http/range.h"

int range_read(struct str field, uint64_t size, struct range *out)
{
	struct str last = str_skip(field, 6), first;
	uint64_t from = 0, to = 0;

	if (!str_starts(field, STR("bytes=")) || str_find_byte(last, ',') < last.n ||
		str_find_byte(last, '-') == last.n)
		return 1;
	first = str_cut(&last, '-');
	if ((first.n && str_u64(first, INT64_MAX, &from) < 0) ||
		(last.n && str_u64(last, INT64_MAX, &to) < 0) || (!first.n && !last.n))
		return 1;
	if (!first.n) {
		from = to < size ? size - to : 0;
		to = size;
	} else if (last.n && to < from) {
		return 1;
	} else {
		to = last.n && to < size ? to + 1 : size;
	}
	if (from >= to)
		return ERR_RANGE;
	*out = (struct range){from, to - from};
	return 0;
}
