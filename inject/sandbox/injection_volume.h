/*
 * The injection method "volume". Each client has a volume, which the first process that
 * finds it incomplete fills. Only one process at a time fills it. A process never changes
 * correct files, because other sandboxes may be starting from the volume. Results as the
 * functions of a method.
 */
#ifndef INJECT_SANDBOX_INJECTION_VOLUME_H
#define INJECT_SANDBOX_INJECTION_VOLUME_H

#include "inject/sandbox/injection.h"

int injection_volume_prepare(struct injection *v) MUST_USE;
int injection_volume_fill(struct injection *v, const char *id) MUST_USE;

#endif
