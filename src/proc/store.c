#include "proc/store.h"

#include "base/fd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

/* Init reads at once and never blocks, so that this wait is short. */
static int store_send_record(struct store *s, const struct store_record *r, int fd)
{
	struct pollfd w = {.fd = s->sock, .events = POLLOUT};
	int err;

	while ((err = fd_send_record(s->sock, r, sizeof(*r), fd)) == -EAGAIN)
		poll(&w, 1, -1);
	return err;
}

int store_put(struct store *s, const char *name, int fd, pid_t pid)
{
	struct store_record r = {.op = STORE_PUT, .pid = pid};

	if (s->sock < 0)
		return 0;
	if ((size_t)snprintf(r.name, sizeof(r.name), "%s", name) >= sizeof(r.name))
		return -ENAMETOOLONG;
	return store_send_record(s, &r, fd);
}

void store_drop(struct store *s, const char *name)
{
	struct store_record r = {.op = STORE_DROP};

	if (s->sock < 0)
		return;
	snprintf(r.name, sizeof(r.name), "%s", name);
	/* If init is gone, nothing is kept any more. */
	if (store_send_record(s, &r, -1) < 0)
		return;
}

int store_next(struct store *s, struct store_record *r, int *fd)
{
	ssize_t n;

	*fd = -1;
	if (s->sock < 0)
		return -EAGAIN;
	n = fd_recv_record(s->sock, r, sizeof(*r), fd);
	if (n < 0)
		return (int)n;
	if (n != (ssize_t)sizeof(*r)) {
		fd_close(fd);
		return n == 0 ? ERR_CLOSED : -EBADMSG;
	}
	r->name[STORE_NAME - 1] = '\0';
	return 0;
}

int store_wait_next(struct store *s, struct store_record *r, int *fd)
{
	struct pollfd w = {.fd = s->sock, .events = POLLIN};
	int err;

	if (s->sock < 0) {
		*r = (struct store_record){.op = STORE_END};
		*fd = -1;
		return 0;
	}
	while ((err = store_next(s, r, fd)) == -EAGAIN)
		poll(&w, 1, -1);
	return err;
}
