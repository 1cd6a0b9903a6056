/* The first bytes of a file, as Linux reads them to execute it: ELF, or a script. */
#ifndef CODEC_EXEC_FORMAT_H
#define CODEC_EXEC_FORMAT_H

#include "base/str.h"

/* Linkers put the name of the interpreter into the first page. */
enum { EXEC_FORMAT_HEAD = 4096 };

/*
 * Reads the beginning of a file, EXEC_FORMAT_HEAD bytes or all. 0 with *interpreter, the
 * path of another program that must exist: the loader of a dynamic program, or the
 * program that a "#!" line names. It is empty for a static program, and if the name lies
 * after the head. ERR_TYPE: neither ELF nor a script.
 */
int exec_format_read(struct str head, struct str *interpreter) MUST_USE;

#endif
