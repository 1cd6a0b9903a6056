/*
 * Errors of the whole program.
 *
 * A fallible function returns int: 0 is success, a positive value means "not yet" (more
 * input, more space, would block), a negative value is an error, either -errno or one of
 * the constants below. Out-parameters come last and are unchanged on failure.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

enum err {
	ERR_LIMIT = -4096,     /* a maximum was reached */
	ERR_SYNTAX = -4097,    /* input breaks its grammar */
	ERR_DEPTH = -4098,     /* input is nested too deeply */
	ERR_UTF8 = -4099,      /* input is not valid UTF-8 */
	ERR_DUPLICATE = -4100, /* a key or header occurs twice */
	ERR_TYPE = -4101,      /* a value has another type than asked for */
	ERR_RANGE = -4102,     /* a number is out of range */
	ERR_CLOSED = -4103,    /* the peer ended the stream too early */
	ERR_VERSION = -4104,   /* an unsupported protocol version */
	ERR_TLS = -4105,       /* the TLS engine failed; its own code says why */
	ERR_REFUSED = -4106,   /* the peer has refused; the caller keeps its message */
};

/* The text for an error code of either kind; a static string, never NULL. */
const char *err_text(int err);

#endif
