/* Names of signals, as kill -l of POSIX lists them and as this machine numbers them. */
#ifndef BASE_SIGNAL_NAME_H
#define BASE_SIGNAL_NAME_H

#include "base/str.h"

/* "SIGTERM"; NULL for a number without a name, such as a real-time signal. */
const char *signal_name(int signo);
/* The number of "SIGTERM", "TERM", "term", "15" or "SIG15"; 0: no such signal. */
int signal_number(struct str text);

#endif
