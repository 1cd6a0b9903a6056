#include "kernel/connection.h"

#include "base/fd.h"
#include "base/jw.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KERNEL_FILE_MAX = 2048 }; /* bytes; a connection file has 400 */

static const char loopback[] = "127.0.0.1", file_name[] = "connection.json";

/* The prefix of the sockets' names; a number follows. */
static const char socket_name[] = "s";

static const char *const port_names[] = {
	[CONNECTION_SHELL] = "shell_port",
	[CONNECTION_IOPUB] = "iopub_port",
	[CONNECTION_CONTROL] = "control_port",
	[CONNECTION_HEARTBEAT] = "hb_port",
	[CONNECTION_STDIN] = "stdin_port",
};

/*
 * Chooses free ports. If another process takes one before the kernel does, the kernel
 * ends, and the next start chooses others.
 */
static int connection_choose_ports(struct connection *c)
{
	int fds[CONNECTION_PORTS], r = 0;

	for (int i = 0; i < CONNECTION_PORTS; i++) {
		struct sockaddr_in a = {0};
		socklen_t n = sizeof(a);

		fds[i] = r ? -1 : fd_listen_tcp(loopback, 0, 1);
		if (!r && fds[i] < 0)
			r = fds[i];
		if (!r && getsockname(fds[i], (struct sockaddr *)&a, &n) < 0)
			r = -errno;
		if (!r)
			c->ports[i] = ntohs(a.sin_port);
	}
	for (int i = 0; i < CONNECTION_PORTS; i++)
		fd_close(&fds[i]);
	return r;
}

static int connection_generate_key(struct connection *c)
{
	uint8_t key[SHA256_LEN];
	int r = random_bytes(key, sizeof(key));

	if (!r)
		hex_encode(key, sizeof(key), c->key);
	return r;
}

static int connection_create_folder(struct connection *c, const char *tmp)
{
	uint8_t name[8];
	char hex[2 * sizeof(name) + 1];
	int n, r = random_bytes(name, sizeof(name));

	if (r)
		return r;
	hex_encode(name, sizeof(name), hex);
	n = snprintf(c->folder, sizeof(c->folder), "%s/od-kernel-%s", tmp, hex);
	if (n < 0 || (size_t)n >= sizeof(c->folder))
		return -ENAMETOOLONG;
	n = snprintf(c->file, sizeof(c->file), "%s/%s", c->folder, file_name);
	if (n < 0 || (size_t)n >= sizeof(c->file))
		return -ENAMETOOLONG;
	if (mkdir(c->folder, 0700) < 0)
		return -errno;
	c->dir = fd_open(c->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (c->dir < 0) {
		r = c->dir;
		c->dir = -1;
		rmdir(c->folder);
	}
	return r;
}

static void connection_write_json(
	const struct connection *c, const char *kernel, struct buf *out)
{
	struct jw w;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "transport");
	jw_cstr(&w, c->by_ipc ? "ipc" : "tcp");
	jw_key(&w, "ip");
	if (c->by_ipc) {
		struct jw_text t;

		jw_text_begin(&t, &w);
		jw_text_put(&t, str_c(c->folder));
		jw_text_put(&t, STR("/"));
		jw_text_put(&t, str_c(socket_name));
		jw_text_end(&t);
	} else {
		jw_cstr(&w, loopback);
	}
	for (size_t i = 0; i < CONNECTION_PORTS; i++) {
		jw_key(&w, port_names[i]);
		jw_uint(&w, c->ports[i]);
	}
	jw_key(&w, "key");
	jw_cstr(&w, c->key);
	jw_key(&w, "signature_scheme");
	jw_cstr(&w, "hmac-sha256");
	jw_key(&w, "kernel_name");
	jw_cstr(&w, kernel);
	jw_end(&w);
}

static int connection_write_file(
	const struct connection *c, const struct spawn_user *owner, const char *kernel)
{
	struct buf b = BUF_INIT(KERNEL_FILE_MAX);
	int fd, r;

	connection_write_json(c, kernel, &b);
	if (b.err)
		return b.err;
	fd = fd_openat(c->dir, file_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	r = fd < 0 ? fd : fd_write_all(fd, b.p, b.n);
	/* The folder is given away last: until then only this process has access. */
	if (!r && owner && owner->uid != (uid_t)-1 &&
		(fchown(fd, owner->uid, owner->gid) < 0 ||
			fchown(c->dir, owner->uid, owner->gid) < 0))
		r = -errno;
	fd_close(&fd);
	buf_free(&b);
	return r;
}

int connection_make(struct connection *c, const char *tmp, bool by_ipc,
	const struct spawn_user *owner, const char *kernel)
{
	int r;

	*c = (struct connection){.dir = -1, .by_ipc = by_ipc};
	r = connection_generate_key(c);
	for (int i = 0; by_ipc && i < CONNECTION_PORTS; i++)
		c->ports[i] = (uint16_t)(i + 1);
	if (!r && !by_ipc)
		r = connection_choose_ports(c);
	r = r ? r : connection_create_folder(c, tmp);
	if (r)
		return r;
	r = connection_write_file(c, owner, kernel);
	if (r)
		connection_remove(c);
	return r;
}

int connection_open(const struct connection *c, enum connection_channel ch)
{
	char path[KERNEL_FOLDER_MAX + 8];

	if (!c->by_ipc)
		return fd_connect_tcp(loopback, c->ports[ch]);
	snprintf(path, sizeof(path), "%s/%s-%u", c->folder, socket_name, c->ports[ch]);
	return fd_connect_unix(path);
}

void connection_remove(struct connection *c)
{
	char name[16];

	if (c->dir < 0)
		return;
	/*
	 * The names are removed by the folder's descriptor, since the user may be able
	 * to change the folder's name. Other files in the folder are not removed, and
	 * then the folder stays.
	 */
	unlinkat(c->dir, file_name, 0);
	for (int i = 0; c->by_ipc && i < CONNECTION_PORTS; i++) {
		snprintf(name, sizeof(name), "%s-%u", socket_name, c->ports[i]);
		unlinkat(c->dir, name, 0);
	}
	fd_close(&c->dir);
	rmdir(c->folder);
}
