/* Numbers as Python prints them: the wire contract quotes its float texts. */
#ifndef BASE_FLOAT_H
#define BASE_FLOAT_H

#include "base/err.h"

enum { FLOAT_TEXT = 32 };

/*
 * repr() of a Python float: the shortest decimal that reads back as v, ".0"
 * after integral values, exponent form below 1e-4 and from 1e16 on, "inf",
 * "-inf", "nan". out has FLOAT_TEXT bytes and is NUL-terminated.
 */
void float_format(double v, char out[FLOAT_TEXT]);

/*
 * The double nearest to a decimal number of valid grammar, which must be followed by a
 * byte that is not part of it. ERR_RANGE when the double is infinite.
 */
int float_read(const char *number, double *out) MUST_USE;

#endif
