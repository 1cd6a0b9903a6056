/* The small roles of the client. Each returns the exit code of the program. */
#ifndef SRV_ROLES_H
#define SRV_ROLES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * 0 when a server on this machine's port answers /alive with 200; over TLS when it
 * answers the first message of a handshake, which is not carried on: nobody could
 * check a certificate that was made for another name.
 */
int role_health(uint16_t port, bool tls);
/*
 * Carries bytes between stdin and stdout and this machine's port, for a host that
 * reaches the sandbox by executing programs in it only. Waits up to two seconds for a
 * server that is about to listen.
 */
int role_connect(uint16_t port);
/*
 * Copies this program to a file, or into a folder under its usual name, mode 0555, by a
 * temporary file and rename; not to where nothing may be executed. A folder also gets
 * od-plugins, if that lies beside this program.
 */
int role_copy_self(const char *to_where);
/* Prints the licences of everything that the static binary called program holds. */
int role_licences(const char *program);
/* text to stdout. */
int role_print(const char *text);

#endif
