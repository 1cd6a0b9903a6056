/* Time. All deadlines are absolute monotonic milliseconds. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_ms(void); /* monotonic, milliseconds */
uint64_t clock_us(void); /* monotonic, microseconds */
/* A deadline ms from now, or the given one if that is sooner. */
uint64_t clock_min_deadline(uint64_t ms, uint64_t deadline);
/* The time of day, as seconds since 1970: for certificates, never for a deadline. */
int64_t clock_unix_s(void);
/* As clock_unix_s, with milliseconds as the fraction; to be shown. */
double clock_unix_time(void);

#endif
