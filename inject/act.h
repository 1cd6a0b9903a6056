/* Executing the words of a command line in a sandbox. */
#ifndef INJECT_ACT_H
#define INJECT_ACT_H

#include "inject/options.h"
#include "inject/sandbox.h"

/*
 * Executes o->words and prints what comes of it. The command's exit code, 0 to
 * 255; EXIT_TIMEOUT; -EINTR, -ENOMEM, FAIL_*.
 */
int act_words(const struct options *o, const struct sandbox *s) MUST_USE;

#endif
