/*
 * Every cap of the program, each with its reason. Sizes are bytes, times are
 * milliseconds, unless the name says otherwise.
 */
#ifndef LIMITS_H
#define LIMITS_H

enum {
	/* JSON requests. */
	JSON_DEPTH_MAX = 64,      /* real requests nest five deep */
	JSON_TOKENS_MAX = 20000,  /* 20 bytes each in the index: 400 KB at most */
	JSON_KEYS_MAX = 128,      /* duplicate check is per object */
};

#endif
