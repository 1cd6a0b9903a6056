#include "base/float.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough decimal digits for every double. */
enum { DIGITS_MAX = 17 };
/* The decimal exponents that Python writes without "e". */
enum { FIXED_MIN = -4, FIXED_MAX = 15 };

/* Writes v as d.ddde+xx with the fewest digits that read back; returns them. */
static int float_format_shortest(double v, char out[FLOAT_TEXT])
{
	for (int digits = 1; digits < DIGITS_MAX; digits++) {
		char *last;

		snprintf(out, FLOAT_TEXT, "%.*e", digits - 1, v);
		if (strtod(out, NULL) == v)
			return digits;
		/*
		 * Above a power of two doubles lie twice as far apart as below, so that
		 * the next decimal may read back as v even if the nearest does not.
		 */
		last = strchr(out, 'e') - 1;
		if (*last < '9') {
			++*last;
			if (strtod(out, NULL) == v)
				return digits;
		}
	}
	snprintf(out, FLOAT_TEXT, "%.*e", DIGITS_MAX - 1, v);
	return DIGITS_MAX;
}

void float_format(double v, char out[FLOAT_TEXT])
{
	int digits, exponent, decimals;

	if (isnan(v) || isinf(v)) {
		/* printf would give a NaN its sign. */
		snprintf(out, FLOAT_TEXT, "%f", isnan(v) ? fabs(v) : v);
		return;
	}
	digits = float_format_shortest(v, out);
	exponent = (int)strtol(strchr(out, 'e') + 1, NULL, 10);
	if (exponent < FIXED_MIN || exponent > FIXED_MAX)
		return;
	decimals = digits - 1 - exponent;
	snprintf(out, FLOAT_TEXT, "%.*f", decimals > 1 ? decimals : 1, v);
}

int float_read(const char *number, double *out)
{
	double v = strtod(number, NULL);

	if (isinf(v))
		return ERR_RANGE;
	*out = v;
	return 0;
}
