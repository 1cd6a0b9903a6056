/* CRC-32 of ISO 3309, as zip archives and PNG have it, by zlib or by the processor. */
#ifndef BASE_CRC_H
#define BASE_CRC_H

#include "base/str.h"

/* That of all bytes so far, crc, which is 0 at first, and of those of piece. */
uint32_t crc_update(uint32_t crc, struct str piece) MUST_USE;

#endif
