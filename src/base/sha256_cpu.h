/* SHA-256 by the processor's own instructions: SHA-NI, or those of ARMv8. */
#ifndef BASE_SHA256_CPU_H
#define BASE_SHA256_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Takes n whole blocks of 64 bytes into the state (FIPS 180-4, 6.2.2). False, and nothing
 * is done, if the processor or the compiler has no such instructions.
 */
bool sha256_cpu_update(uint32_t state[8], const uint8_t *p, size_t n);

#endif
