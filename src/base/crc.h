/* CRC-32 of ISO 3309, as zip archives and PNG have it, by zlib or by the processor. */
#ifndef BASE_CRC_H
#define BASE_CRC_H

#include "base/str.h"

/*
 * Returns the CRC of all bytes so far and of those of piece. crc is the CRC of the bytes
 * so far, 0 at first.
 */
uint32_t crc_update(uint32_t crc, struct str piece) MUST_USE;

#endif
