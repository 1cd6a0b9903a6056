#include "net/resolve.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "limits.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOSTS_FILE_MAX = 4 << 20 }; /* bytes; lists that block advertisements are long */

enum {
	QUESTION_MAX = 512,
	SERVERS = 3,
	SEARCH = 6,
	TRIES = 2,
	PORT = 53,
	NDOTS_MAX = 15
};

struct servers {
	resolve_wait_fn *wait;
	size_t n;
	struct {
		char address[46];
		uint16_t port;
	} at[SERVERS];
	unsigned ndots;
	size_t search_n;
	struct str search[SEARCH]; /* they point into text */
	struct buf text;
};

/* --- Configuration of the machine --------------------------------------------------- */

static int resolve_read_file(const char *path, struct buf *out)
{
	int fd = fd_open(path, 0, 0);
	char piece[4096];
	ssize_t n;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	while ((n = read(fd, piece, sizeof(piece))) > 0)
		buf_put(out, piece, (size_t)n);
	n = n < 0 ? -errno : 0;
	fd_close(&fd);
	return n ? (int)n : out->err;
}

static int resolve_read_hosts(struct str name, struct dns_addresses *found)
{
	struct buf text = BUF_INIT(HOSTS_FILE_MAX);
	int r = resolve_read_file("/etc/hosts", &text);
	struct str rest = buf_view(&text);

	while (!r && rest.n)
		dns_read_hosts_line(str_cut(&rest, '\n'), name, found);
	buf_free(&text);
	return r;
}

static struct str resolve_next_word(struct str *line)
{
	struct str w;

	*line = str_trim(*line, " \t\r");
	w = str_cut(line, ' ');
	return str_trim(w, "\t");
}

/* An address or, in the syntax of BSD, [address]:port. */
static void resolve_add_server(struct servers *s, struct str text)
{
	struct dns_address a;
	uint64_t port = PORT;

	if (text.n && text.p[0] == '[') {
		size_t end = str_find_byte(text, ']');
		struct str tail = str_skip(text, end + 1);

		if (tail.n &&
			(tail.p[0] != ':' || str_u64(str_skip(tail, 1), 65535, &port)))
			return;
		text = str_make(text.p + 1, end - 1);
	}
	if (s->n == SERVERS || !dns_parse_address(text, &a))
		return;
	dns_format_address(&a, s->at[s->n].address);
	s->at[s->n++].port = (uint16_t)port;
}

static void resolve_parse_line(struct servers *s, struct str line)
{
	struct str key, word;
	uint64_t n;

	for (size_t i = 0; i < line.n; i++)
		if (line.p[i] == '\t')
			s->text.p[line.p + i - s->text.p] = ' ';
	key = resolve_next_word(&line);
	if (str_eq(key, STR("nameserver"))) {
		resolve_add_server(s, resolve_next_word(&line));
	} else if (str_eq(key, STR("search")) || str_eq(key, STR("domain"))) {
		s->search_n = 0;
		while (s->search_n < SEARCH && (word = resolve_next_word(&line)).n)
			s->search[s->search_n++] = str_trim(word, ".");
	} else if (str_eq(key, STR("options"))) {
		while ((word = resolve_next_word(&line)).n)
			if (str_starts(word, STR("ndots:")) &&
				!str_u64(str_skip(word, 6), NDOTS_MAX, &n))
				s->ndots = (unsigned)n;
	}
}

static int resolve_read_config(struct servers *s)
{
	const char *path = getenv("OD_RESOLV_CONF");
	struct str rest;
	int r;

	s->ndots = 1;
	buf_init(&s->text, HOSTS_FILE_MAX);
	r = resolve_read_file(path ? path : "/etc/resolv.conf", &s->text);
	rest = buf_view(&s->text);
	while (!r && rest.n)
		resolve_parse_line(s, str_cut(&rest, '\n'));
	if (!s->n)
		resolve_add_server(s, STR("127.0.0.1"));
	return r;
}

/* --- Queries ------------------------------------------------------------------------ */

static int resolve_wait(const struct servers *s, int fd, short events, uint64_t deadline)
{
	int r = s->wait(fd, events, deadline);

	return r < 0 ? r : r ? 0 : -ETIMEDOUT;
}

/* Sends (out) or receives exactly n bytes over TCP. */
static int resolve_transfer(
	const struct servers *s, int fd, bool out, char *p, size_t n, uint64_t deadline)
{
	while (n) {
		int r = resolve_wait(s, fd, out ? POLLOUT : POLLIN, deadline);
		ssize_t moved;

		if (r)
			return r;
		moved = out ? send(fd, p, n, MSG_NOSIGNAL) : recv(fd, p, n, 0);
		if (moved == 0)
			return ERR_CLOSED;
		if (moved < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (moved > 0) {
			p += moved;
			n -= (size_t)moved;
		}
	}
	return 0;
}

/*
 * Sends the query over TCP (RFC 7766). Query and answer each follow two bytes of length.
 */
static int resolve_query_tcp(const struct servers *s, size_t i, struct str question,
	char *answer, size_t *answer_n)
{
	uint64_t deadline = clock_ms() + RESOLVE_MS;
	int fd = fd_connect_tcp(s->at[i].address, s->at[i].port);
	struct buf out = BUF_INIT(QUESTION_MAX);
	char head[2] = {(char)(question.n >> 8), (char)question.n};
	size_t n;
	int r;

	/* A single write, because some servers read only once. */
	buf_put(&out, head, sizeof(head));
	buf_str(&out, question);
	r = fd < 0 ? fd : out.err;
	if (r)
		goto out;
	r = resolve_transfer(s, fd, true, out.p, out.n, deadline);
	if (r)
		goto out;
	r = resolve_transfer(s, fd, false, head, sizeof(head), deadline);
	if (r)
		goto out;
	n = (size_t)(unsigned char)head[0] << 8 | (unsigned char)head[1];
	r = n > DNS_PACKET_MAX ? ERR_LIMIT
			       : resolve_transfer(s, fd, false, answer, n, deadline);
	if (!r)
		*answer_n = n;
out:
	if (fd >= 0)
		fd_close(&fd);
	buf_free(&out);
	return r;
}

/* Sends a query to a server. Errors of dns_read_answer or of the connection. */
static int resolve_query(const struct servers *s, size_t i, struct str name,
	enum dns_type type, struct dns_addresses *found)
{
	uint64_t deadline = clock_ms() + RESOLVE_MS;
	struct buf question = BUF_INIT(QUESTION_MAX);
	char answer[DNS_PACKET_MAX];
	uint16_t id;
	size_t got = 0;
	int fd = -1;
	int r = random_bytes(&id, sizeof(id));

	if (r)
		return r;
	r = dns_write_query(id, name, type, &question);
	if (r)
		goto out;
	fd = fd_connect_udp(s->at[i].address, s->at[i].port);
	r = fd < 0 ? fd : 0;
	if (!r && send(fd, question.p, question.n, MSG_NOSIGNAL) < 0)
		r = -errno;
	while (!r) {
		ssize_t n;

		r = resolve_wait(s, fd, POLLIN, deadline);
		if (r)
			break;
		n = recv(fd, answer, sizeof(answer), 0);
		if (n < 0 && errno != EAGAIN)
			r = -errno;
		if (n <= 0)
			continue;
		r = dns_read_answer(str_make(answer, (size_t)n), id, name, type, found);
		if (r != 1)
			break;
		r = 0;
	}
	if (r == -EMSGSIZE) {
		r = resolve_query_tcp(s, i, buf_view(&question), answer, &got);
		if (!r)
			r = dns_read_answer(str_make(answer, got), id, name, type, found);
		if (r > 0)
			r = ERR_SYNTAX;
	}
out:
	if (fd >= 0)
		fd_close(&fd);
	buf_free(&question);
	return r;
}

/* Queries both kinds of address. The first server that answers decides. */
static int resolve_query_all(
	const struct servers *s, struct str name, struct dns_addresses *found)
{
	int r = -EAGAIN;

	for (unsigned i = 0; i < TRIES * s->n; i++) {
		size_t at = i % s->n;
		int v6;

		r = resolve_query(s, at, name, DNS_A, found);
		if (r == -EINTR)
			return r;
		if (r && r != -ENOENT)
			continue;
		v6 = resolve_query(s, at, name, DNS_AAAA, found);
		if (v6 == -EINTR)
			return v6;
		if (found->n)
			return 0;
		if (r == -ENOENT || v6 == 0)
			return -ENOENT;
		r = v6;
	}
	return r;
}

static int resolve_search(
	const struct servers *s, struct str name, struct dns_addresses *found)
{
	bool absolute = name.n && name.p[name.n - 1] == '.';
	bool first = absolute || str_count(name, '.') >= s->ndots;
	struct buf full = BUF_INIT(512);
	int r = first ? resolve_query_all(s, name, found) : -ENOENT;

	for (size_t i = 0; r == -ENOENT && !absolute && i < s->search_n; i++) {
		buf_reset(&full);
		buf_str(&full, name);
		buf_putc(&full, '.');
		buf_str(&full, s->search[i]);
		r = full.err ? full.err : resolve_query_all(s, buf_view(&full), found);
		if (r == ERR_SYNTAX)
			r = -ENOENT;
	}
	if (r == -ENOENT && !first)
		r = resolve_query_all(s, name, found);
	buf_free(&full);
	return r;
}

/* RFC 6761 6.3: the query must not leave the machine. */
static bool resolve_is_localhost(struct str name)
{
	struct str tail = STR(".localhost");

	return str_eq_nocase(name, STR("localhost")) ||
		(name.n > tail.n && str_eq_nocase(str_skip(name, name.n - tail.n), tail));
}

int resolve(struct str name, resolve_wait_fn *wait, struct dns_addresses *found)
{
	struct dns_addresses got = {0};
	struct servers s = {.wait = wait};
	int r = 0;

	if (dns_parse_address(name, &got.at[0])) {
		got.n = 1;
		goto out;
	}
	r = resolve_read_hosts(name, &got);
	if (r)
		return r;
	if (!got.n && resolve_is_localhost(name)) {
		dns_read_hosts_line(STR("127.0.0.1 localhost"), STR("localhost"), &got);
		dns_read_hosts_line(STR("::1 localhost"), STR("localhost"), &got);
	}
	if (!got.n) {
		r = resolve_read_config(&s);
		if (!r)
			r = resolve_search(&s, name, &got);
		buf_free(&s.text);
	}
	if (r)
		return r;
out:
	*found = got;
	return 0;
}
