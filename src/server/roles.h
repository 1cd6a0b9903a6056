/* Small roles of the client. Each returns the exit code of the program. */
#ifndef SERVER_ROLES_H
#define SERVER_ROLES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns 0 if a server on this port of 127.0.0.1 answers GET /alive with 200. With TLS
 * it returns 0 if the server answers a ClientHello. The handshake is not completed,
 * because a certificate for another name cannot be checked.
 */
int role_health(uint16_t port, bool tls);
/*
 * Copies bytes between stdin, stdout and this port of 127.0.0.1, for a host that can only
 * execute programs in the sandbox. Waits up to two seconds for a server to listen.
 */
int role_connect(uint16_t port);
/*
 * Copies this program to a file, or into a folder under its usual name, with mode 0555,
 * by a temporary file and rename(2). Refuses a file system that is mounted noexec. A
 * folder also gets od-plugins, if that lies beside this program.
 */
int role_copy_self(const char *to_where);
/* Prints the licences of all code in the static binary called program. */
int role_licences(const char *program);
/* Prints text to stdout. */
int role_print(const char *text);

#endif
