/* The TLS machine against openssl s_client, over a unix socket. */
#include "net/tls.h"
#include "net/tls_credentials.h"
#include "tests/support/tls_pem.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPLY_LEN = 100000 };

static char folder[] = "/tmp/test_tls.XXXXXX";
static char request[] = "GET / HTTP/1.1\r\n\r\n";
static char reply[REPLY_LEN];

static const char *in_folder(const char *name)
{
	static char path[8][64];
	static int next;
	char *p = path[next++ % 8];

	snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
	return p;
}

static void file_write(const char *name, const char *text)
{
	FILE *f = fopen(in_folder(name), "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		printf("Bail out! cannot write %s\n", in_folder(name));
}

static size_t file_read(const char *name, char *p, size_t n)
{
	FILE *f = fopen(in_folder(name), "r");
	size_t got = f ? fread(p, 1, n, f) : 0;

	if (f)
		fclose(f);
	return got;
}

static int listener_new(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", in_folder("socket"));
	unlink(a.sun_path);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 1) < 0)
		printf("Bail out! cannot listen at %s\n", a.sun_path);
	return fd;
}

/* openssl s_client with the request as input and its output in a file. */
static pid_t client_start(const char *options)
{
	char command[1024];
	pid_t pid;

	snprintf(command, sizeof(command),
		"exec openssl s_client -quiet -unix %s -servername localhost "
		"-verify_hostname localhost -verify_return_error -CAfile %s %s "
		"<%s >%s 2>%s",
		in_folder("socket"), in_folder("ca"), options, in_folder("request"),
		in_folder("out"), in_folder("err"));
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* Sends what there is; the socket is blocking. */
static void send_all(struct tls *t, int fd)
{
	struct str out;

	while ((out = tls_output(t)).n) {
		ssize_t n = send(fd, out.p, out.n, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		tls_output_done(t, (size_t)n);
	}
}

/* Answers one request on fd; how the connection ended. */
static int serve(const struct tls_credentials *s, int fd)
{
	struct tls t = {0};
	char in[4096];
	size_t answered = 0, asked = 0, n;
	ssize_t got;
	struct str data;
	int r = tls_accept(&t, s, 0);

	while (!r && (got = read(fd, in, sizeof(in))) > 0) {
		for (size_t at = 0; !r && at < (size_t)got; at += n) {
			n = 0;
			r = tls_feed(&t, in + at, (size_t)got - at, &n);
			while (tls_read(&t, &data) == 0) {
				asked += data.n;
				tls_read_done(&t, data.n);
			}
			send_all(&t, fd);
		}
		if (asked == sizeof(request) - 1 && !answered) {
			while (answered < REPLY_LEN &&
				tls_write(&t, reply + answered, REPLY_LEN - answered,
					&n) == 0) {
				answered += n;
				send_all(&t, fd);
			}
			tls_close(&t);
		}
		send_all(&t, fd);
	}
	if (!r)
		r = tls_feed_end(&t);
	if (r == ERR_TLS)
		printf("# server: %s\n", tls_error_text(&t));
	tls_free(&t);
	return r;
}

static void run(const char *name, const char *cert, const char *key, const char *options,
	bool good)
{
	static char out[REPLY_LEN + 1];
	struct tls_credentials *s = NULL;
	const char *why = "";
	int listener = listener_new(), status = -1, fd, r;
	struct pollfd wait = {.fd = listener, .events = POLLIN};
	pid_t client;
	size_t n;

	file_write("ca", cert);
	is_int(tls_credentials_new(str_c(cert), str_c(key), &why, &s), 0, "%s", name);
	client = client_start(options);
	if (poll(&wait, 1, 10000) == 1 && (fd = accept(listener, NULL, NULL)) >= 0) {
		r = serve(s, fd);
		close(fd);
		ok(good ? r == TLS_END || r == 0 : r == ERR_TLS, "the server's view: %d",
			r);
	} else {
		ok(false, "openssl connects");
	}
	waitpid(client, &status, 0);
	n = file_read("out", out, sizeof(out));
	if (good)
		is_mem(out, n, reply, REPLY_LEN, "the reply is whole");
	else
		is_int(n, 0, "no reply");
	if (!ok(good == (status == 0), "openssl's status: %d", status)) {
		n = file_read("err", out, sizeof(out));
		tap_bytes("openssl", out, n);
	}
	tls_credentials_del(s);
	close(listener);
}

int main(void)
{
	if (system("openssl version >/dev/null 2>&1") != 0) {
		skip("openssl s_client", "openssl is not installed");
		return done_testing();
	}
	if (!mkdtemp(folder))
		return 1;
	for (size_t i = 0; i < REPLY_LEN; i++)
		reply[i] = (char)('a' + i % 26);
	file_write("request", request);

	run("EC, as openssl likes it", PEM_EC_CERT, PEM_EC_KEY, "", true);
	run("RSA, as openssl likes it", PEM_RSA_CERT, PEM_RSA_KEY, "", true);
	run("EC, AES-256", PEM_EC_CERT, PEM_EC_KEY,
		"-cipher ECDHE-ECDSA-AES256-GCM-SHA384", true);
	run("EC, ChaCha20", PEM_EC_CERT, PEM_EC_KEY,
		"-cipher ECDHE-ECDSA-CHACHA20-POLY1305", true);
	run("RSA, AES-128", PEM_RSA_CERT, PEM_RSA_KEY,
		"-cipher ECDHE-RSA-AES128-GCM-SHA256", true);
	run("RSA, ChaCha20, P-384", PEM_RSA_CERT, PEM_RSA_KEY,
		"-cipher ECDHE-RSA-CHACHA20-POLY1305 -curves P-384", true);
	run("EC, ALPN with h2 first", PEM_EC_CERT, PEM_EC_KEY, "-alpn h2,http/1.1", true);
	run("TLS 1.3 alone", PEM_EC_CERT, PEM_EC_KEY, "-tls1_3", false);
	run("TLS 1.1 alone", PEM_EC_CERT, PEM_EC_KEY, "-tls1_1 -cipher ALL:@SECLEVEL=0",
		false);
	run("CBC alone", PEM_RSA_CERT, PEM_RSA_KEY,
		"-tls1_2 -cipher ECDHE-RSA-AES128-SHA", false);
	run("static RSA alone", PEM_RSA_CERT, PEM_RSA_KEY,
		"-tls1_2 -cipher AES128-GCM-SHA256", false);
	run("SHA-1 signatures alone", PEM_RSA_CERT, PEM_RSA_KEY,
		"-tls1_2 -sigalgs RSA+SHA1 -cipher ALL:@SECLEVEL=0", false);

	for (const char *const *f = (const char *const[]){"socket", "ca", "request",
		     "out", "err", NULL};
		*f; f++)
		unlink(in_folder(*f));
	rmdir(folder);
	return done_testing();
}
