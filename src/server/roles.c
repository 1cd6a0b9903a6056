#include "server/roles.h"

#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "proc/plugins_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { HEALTH_MS = 5000, ANSWER_MAX = 16, COPY_CHUNK = 65536, DEST_MAX = 4096 };

int role_print(const char *text)
{
	return fd_write_all(STDOUT_FILENO, text, strlen(text)) < 0 ? EXIT_ENVIRONMENT
								   : EXIT_DONE;
}

#define ALIVE "GET /alive HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

#define ZEROS_32 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

/* A ClientHello (RFC 5246, 7.4.1.2). It needs no secret, so its random part is zero. */
#define CLIENT_HELLO \
	"\x16\x03\x01\0\x43" \
	"\1\0\0\x3f\3\3" ZEROS_32 "\0" \
	"\0\4\xc0\x2b\xc0\x2f" /* ECDHE, ECDSA and RSA, AES-128-GCM */ \
	"\1\0\0\x12" \
	"\0\x0a\0\4\0\2\0\x17"   /* P-256 */ \
	"\0\x0d\0\6\0\4\4\3\4\1" /* ECDSA and RSA with SHA-256 */

/* A request, and the beginning of a good answer. */
struct role_probe {
	struct str ask, answer;
};

static const struct role_probe ask_http = {
	{ALIVE, sizeof(ALIVE) - 1}, {"HTTP/1.1 200 ", 13}};
static const struct role_probe ask_tls = {
	{CLIENT_HELLO, sizeof(CLIENT_HELLO) - 1}, {"\x16\3\3", 3}};

/*
 * Sends the request and compares the first bytes of the answer, which the server sends in
 * one piece.
 */
static int role_probe_server(int fd, const struct role_probe *q)
{
	struct pollfd w = {.fd = fd, .events = POLLOUT};
	char head[ANSWER_MAX];
	ssize_t n;
	int r;

	if (poll(&w, 1, HEALTH_MS) <= 0)
		return -ETIMEDOUT;
	r = fd_connect_result(fd);
	if (!r)
		r = fd_write_all(fd, q->ask.p, q->ask.n);
	if (r < 0)
		return r;
	w.events = POLLIN;
	if (poll(&w, 1, HEALTH_MS) <= 0)
		return -ETIMEDOUT;
	n = read(fd, head, q->answer.n);
	if (n < 0)
		return -errno;
	return str_eq(str_make(head, (size_t)n), q->answer) ? 0 : -EPROTO;
}

int role_health(uint16_t port, bool tls)
{
	int fd = fd_connect_tcp("127.0.0.1", port);
	int r = fd < 0 ? fd : role_probe_server(fd, tls ? &ask_tls : &ask_http);

	fd_close(&fd);
	if (r == 0)
		return EXIT_DONE;
	log_error("no healthy server on port %u: %s", port, err_text(r));
	return 1;
}

static int role_copy_bytes(int from, int to)
{
	static char chunk[COPY_CHUNK];
	ssize_t n;

	while ((n = read(from, chunk, sizeof(chunk))) > 0) {
		int r = fd_write_all(to, chunk, (size_t)n);

		if (r < 0)
			return r;
	}
	if (n < 0 || fchmod(to, 0555) < 0 || fsync(to) < 0)
		return -errno;
	return 0;
}

/* Refuses a file system that is mounted noexec. */
static int role_check_noexec(int fd)
{
	struct statvfs fs;

	if (fstatvfs(fd, &fs) < 0 || !(fs.f_flag & ST_NOEXEC))
		return 0;
	log_error("copy-self: the destination is mounted noexec; choose a folder where "
		  "programs can be executed");
	return -EACCES;
}

/* Copies the file at from to dest. *what is the path that failed. */
static int role_copy_file(const char *from, const char *dest, const char **what)
{
	char temp[DEST_MAX + 16];
	int in = fd_open(from, O_RDONLY, 0);
	int to = -1;
	int r = in;

	*what = r < 0 ? from : dest;
	if (r >= 0) {
		snprintf(temp, sizeof(temp), "%s.%d", dest, (int)getpid());
		r = to = fd_open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0700);
	}
	if (r >= 0)
		r = role_check_noexec(to);
	if (r >= 0)
		r = role_copy_bytes(in, to);
	if (r >= 0 && rename(temp, dest) < 0)
		r = -errno;
	/* Only the temporary file is removed; an older file at dest stays. */
	if (r < 0 && to >= 0)
		unlink(temp);
	fd_close(&in);
	fd_close(&to);
	return r < 0 ? r : 0;
}

/*
 * Copies the program at from to dest. If name is not empty, dest is a folder, and the
 * copy gets that name in it.
 */
static int role_copy_named(const char *from, const char *dest, const char *name)
{
	char path[DEST_MAX];
	int n = snprintf(path, sizeof(path), "%s%s%s", dest, *name ? "/" : "", name);
	const char *what = dest;
	int r = -ENAMETOOLONG;

	if (n >= 0 && n < (int)sizeof(path))
		r = role_copy_file(from, path, &what);
	if (!r)
		return EXIT_DONE;
	log_error("copy-self: %s: %s", what, err_text(r));
	return EXIT_ENVIRONMENT;
}

/* The client is copied last: when it is there, the other program is complete. */
int role_copy_self(const char *to_where)
{
	char plugins[FILE_PATH_MAX];
	struct stat st;
	bool folder = stat(to_where, &st) == 0 && S_ISDIR(st.st_mode);
	int code = EXIT_DONE;

	if (folder && plugins_program_find(plugins) == 0)
		code = role_copy_named(plugins, to_where, PLUGINS_PROGRAM);
	if (code)
		return code;
	return role_copy_named(
		"/proc/self/exe", to_where, folder ? "od-runtime-client" : "");
}

int role_licences(const char *program)
{
	int r = role_print(program);

	return r ? r
		 : role_print(
			   " is under the MIT licence.\n"
			   "Copyright (c) 2026 The od-runtime authors\n"
			   "\n"
			   "It holds, linked into this one file:\n"
			   "  musl      MIT   Copyright (c) 2005-2020 Rich Felker, et "
			   "al.\n"
			   "  BearSSL   MIT   Copyright (c) 2016 Thomas Pornin "
			   "<pornin@bolet.org>\n"
			   "  jsmn      MIT   Copyright (c) 2010 Serge Zaitsev\n"
			   "  zlib      Zlib  Copyright (C) 1995-2022 Jean-loup Gailly, "
			   "Mark Adler\n"
			   "\n"
			   "The MIT licence:\n"
			   "Permission is hereby granted, free of charge, to any person "
			   "obtaining "
			   "a\n"
			   "copy of this software and associated documentation files "
			   "(the\n"
			   "\"Software\"), to deal in the Software without restriction, "
			   "including\n"
			   "without limitation the rights to use, copy, modify, merge, "
			   "publish,\n"
			   "distribute, sublicense, and/or sell copies of the Software, "
			   "and to "
			   "permit\n"
			   "persons to whom the Software is furnished to do so, subject "
			   "to the\n"
			   "following conditions: The above copyright notice and this "
			   "permission\n"
			   "notice shall be included in all copies or substantial "
			   "portions of the\n"
			   "Software.\n"
			   "THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY "
			   "KIND, "
			   "EXPRESS\n"
			   "OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF\n"
			   "MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND "
			   "NONINFRINGEMENT. "
			   "IN\n"
			   "NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE "
			   "FOR ANY "
			   "CLAIM,\n"
			   "DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF "
			   "CONTRACT, TORT OR\n"
			   "OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE "
			   "SOFTWARE OR "
			   "THE\n"
			   "USE OR OTHER DEALINGS IN THE SOFTWARE.\n");
}
