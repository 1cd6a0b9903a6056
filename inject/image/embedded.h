/*
 * The programs embedded in the file of od-runtime, a client and od-plugins for each
 * architecture, so that no other file is needed: gzip members (RFC 1952) in sections of
 * the ELF file, which the build adds and strip(1) leaves alone.
 */
#ifndef INJECT_IMAGE_EMBEDDED_H
#define INJECT_IMAGE_EMBEDDED_H

#include "base/buf.h"

/* The prefixes of section names; the engine's name of the architecture follows. */
#define EMBEDDED_CLIENT ".od.client."
#define EMBEDDED_PLUGINS ".od.plugins."

/*
 * The section for arch of a 64-bit little-endian ELF file; section is one of the names
 * above. 0 with *packed, which points into elf; 1 if elf has no such section; ERR_SYNTAX
 * if elf is not such a file. No I/O.
 */
int embedded_find(
	struct str elf, struct str section, struct str arch, struct str *packed) MUST_USE;
/* Appends the architectures of those sections, a blank before each. No I/O. */
void embedded_list(struct str elf, struct str section, struct buf *out);

/* Unpacks a section. 0; ERR_SYNTAX if it is damaged; the error of out. */
int embedded_unpack(struct str packed, struct buf *out) MUST_USE;

#endif
