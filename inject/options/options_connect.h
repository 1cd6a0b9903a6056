/* The rows of --connect in the table of options.c, whose macros they use. */
#ifndef INJECT_OPTIONS_OPTIONS_CONNECT_H
#define INJECT_OPTIONS_OPTIONS_CONNECT_H

#define CONNECT_TEXT(member) TEXT, AT(member), .commands = FOR_RUN
#define CONNECT_FILE(member) FILES, CONNECT_TEXT(member)

/* clang-format off */
#define OPTIONS_CONNECT \
	{"connect", "URL", \
		"have the sandbox dial out to a backend, such as od-runtime listen: " \
		"ws://HOST:PORT/connect, wss://... or unix:/PATH, as the sandbox sees " \
		"it", \
		CONNECT_TEXT(connect)}, \
	{"connect-id", "NAME", \
		"name the sandbox NAME at the backend; default: its own name", \
		CONNECT_TEXT(connect_id)}, \
	{"connect-token", "FILE", \
		"send the backend the token in FILE; the sandbox gets it as a file, " \
		"which only root can read if the server runs as root", \
		CONNECT_FILE(connect_token)}, \
	{"connect-ca", "FILE", "trust a backend at wss://... by its authority (PEM)", \
		CONNECT_FILE(connect_ca)}, \
	{"connect-pin", "SHA256", \
		"trust a backend at wss://... by the SHA-256 of its public key " \
		"(SubjectPublicKeyInfo)", \
		CONNECT_TEXT(connect_pin)}, \
	{"connect-cert", "FILE", \
		"send the backend this certificate (PEM); needs --connect-key", \
		CONNECT_FILE(connect_cert)}, \
	{"connect-key", "FILE", "use this private key of --connect-cert (PEM)", \
		CONNECT_FILE(connect_key)}
/* clang-format on */

#endif
