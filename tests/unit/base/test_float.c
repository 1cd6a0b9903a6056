#include "base/float.h"

#include "tests/tap.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static const struct {
	double v;
	const char *text; /* what Python's repr gives */
} rows[] = {
	{0.0, "0.0"},
	{-0.0, "-0.0"},
	{1.0, "1.0"},
	{-1.0, "-1.0"},
	{2.5, "2.5"},
	{120.0, "120.0"},
	{0.1, "0.1"},
	{0.1 + 0.2, "0.30000000000000004"},
	{1.0 / 3, "0.3333333333333333"},
	{2.0 / 3, "0.6666666666666666"},
	{100.0 / 3, "33.333333333333336"},
	{334.39, "334.39"},
	{1e15, "1000000000000000.0"},
	{123456789012345680.0, "1.2345678901234568e+17"},
	{9007199254740992.0, "9007199254740992.0"},
	{9007199254740994.0, "9007199254740994.0"},
	{9999999999999998.0, "9999999999999998.0"},
	{1e16, "1e+16"},
	{1e17, "1e+17"},
	{1.5e16, "1.5e+16"},
	{1e22, "1e+22"},
	{1e100, "1e+100"},
	{0.0001, "0.0001"},
	{0.00012345, "0.00012345"},
	{0.00009999, "9.999e-05"},
	{0.00001, "1e-05"},
	{1e-10, "1e-10"},
	{1.7976931348623157e308, "1.7976931348623157e+308"},
	{2.2250738585072014e-308, "2.2250738585072014e-308"},
	{5e-324, "5e-324"},
	/* Powers of two whose shortest text is not the nearest of its length. */
	{0x1p-1017, "7.120236347223045e-307"},
	{0x1p-957, "8.209073602596753e-289"},
	{-0x1p-778, "-6.290184345309701e-235"},
	{INFINITY, "inf"},
	{-INFINITY, "-inf"},
	{NAN, "nan"},
	{-NAN, "nan"},
};

/* Reads back, and no text with one digit less does. */
static bool is_shortest(double v)
{
	char text[FLOAT_TEXT], less[64];
	int digits = 0;

	float_format(v, text);
	if (strtod(text, NULL) != v)
		return false;
	for (const char *c = text; *c && *c != 'e'; c++)
		if (*c >= '0' && *c <= '9' && (digits || *c != '0'))
			digits++;
	if (strstr(text, ".0") && strlen(strstr(text, ".0")) == 2)
		return true;
	snprintf(less, sizeof(less), "%.*e", digits > 1 ? digits - 2 : 0, v);
	return digits <= 1 || strtod(less, NULL) != v;
}

static void test_read(void)
{
	double v = 42;

	is_int(float_read("2.5,", &v), 0, "a number is read up to what follows");
	ok(v == 2.5, "as the nearest double");
	is_int(float_read("1e309]", &v), ERR_RANGE, "infinity is out of range");
	is_int(float_read("-1e309]", &v), ERR_RANGE, "on either side");
	ok(v == 2.5, "out is untouched on failure");
}

int main(void)
{
	char text[FLOAT_TEXT];
	uint64_t bits = 88172645463325252;
	bool good = true;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		float_format(rows[i].v, text);
		is_str(text, rows[i].text, "%s", rows[i].text);
	}
	for (int i = 0; i < 20000 && good; i++) {
		double v;

		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		memcpy(&v, &bits, sizeof(v));
		good = !isfinite(v) || is_shortest(v);
	}
	ok(good, "random doubles read back and are shortest");
	for (int i = 0; i < 100000 && good; i += 7)
		good = is_shortest(i / 100.0);
	ok(good, "hundredths read back and are shortest");
	test_read();
	return done_testing();
}
