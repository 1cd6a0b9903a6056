/* PUT /v1/files, in its job: one file. */
#include "server/files/file_jobs.h"

#include "base/fd.h"
#include "fs/load.h"
#include "fs/put.h"
#include "limits.h"
#include "proc/hasher.h"
#include "server/files/etag.h"

#include <errno.h>
#include <fcntl.h>

/* Hashes the existing file and sets *st. Returns 0 or -errno. */
static int receive_file_hash_target(
	const struct put *p, struct stat *st, char hex[SHA256_HEX + 1])
{
	int fd = load_open(p->dir, p->name, O_RDONLY | O_NOFOLLOW, st);
	int r = fd < 0 ? fd : etag_hash(fd, hex);

	fd_close(&fd);
	return r;
}

/*
 * Evaluates the conditions: 1 if they are not met. p->swap gets what must still hold at
 * the commit.
 */
static int receive_file_check(const struct transfer_request *ask, struct put *p)
{
	char hex[SHA256_HEX + 1] = "";
	bool exists = p->exists;

	if (etag_is_list(ask->match) || etag_is_list(ask->none_match)) {
		int r = receive_file_hash_target(p, &p->swap.old, hex);

		if (r && r != -ENOENT)
			return r;
		exists = r == 0;
		p->swap.policy = exists ? ATOMIC_FILE_SAME : ATOMIC_FILE_ANY;
	}
	if (exists)
		return !etag_allows(ask, hex);
	if (ask->none_match.n)
		p->swap.policy = ATOMIC_FILE_NEW;
	return ask->match.n > 0;
}

static int receive_file_reply(struct transfer_io *io, const struct transfer_request *ask,
	enum put_how how, uint64_t size, const char *hex)
{
	static const char *const words[] = {
		[PUT_NEW] = "new",
		[PUT_REPLACED] = "replaced",
		[PUT_IN_PLACE] = "in place",
	};
	struct transfer_head head = {
		.status = how == PUT_NEW ? 201 : 200, .type = API_JSON};
	struct jw w;
	int r;

	jw_init(&w, &io->buf);
	jw_object(&w);
	jw_key(&w, "path");
	jw_str(&w, ask->path);
	jw_key(&w, "size");
	jw_uint(&w, size);
	jw_key(&w, "sha256");
	jw_cstr(&w, hex);
	jw_key(&w, "how");
	jw_cstr(&w, words[how]);
	jw_end(&w);
	head.length = io->buf.n;
	etag_add(&head, hex);
	r = transfer_begin(io, &head);
	return r ? r : transfer_flush(io);
}

/* Writes the body to p. Returns 0 with its size and its hash, or an error. */
static int receive_file_read_body(
	struct transfer_io *io, struct put *p, uint64_t *size, char hex[SHA256_HEX + 1])
{
	uint8_t digest[SHA256_LEN];
	struct hasher h;
	struct str piece;
	int r;

	hasher_begin(&h, p->swap.fd);
	while ((r = transfer_read(io, &piece)) == 1) {
		r = put_data(p, piece);
		if (r)
			break;
		hasher_put(&h, piece);
	}
	*size = h.n;
	if (!r && hasher_end(&h, digest) == 0)
		hex_encode(digest, sizeof(digest), hex);
	else if (!r)
		r = etag_hash(p->swap.fd, hex);
	hasher_drop(&h);
	return r;
}

/* Receives and commits. Returns 0, 1 if a condition is not met, or an error. */
static int receive_file_commit(struct transfer_io *io, const struct transfer_request *ask,
	struct put *p, enum put_how *how, uint64_t *size, char hex[SHA256_HEX + 1])
{
	int r = receive_file_read_body(io, p, size, hex);

	if (!r)
		r = receive_file_check(ask, p);
	if (r)
		return r;
	p->sync = ask->sync;
	r = put_commit(p, how, NULL);
	/* The file was changed after the conditions were checked. */
	return (r == -ESTALE && p->swap.policy == ATOMIC_FILE_SAME) ||
			(r == -EEXIST && p->swap.policy == ATOMIC_FILE_NEW)
		? 1
		: r;
}

static int receive_file_put(struct transfer_io *io, const struct transfer_request *ask,
	int dir, const char *name)
{
	char hex[SHA256_HEX + 1];
	enum put_how how = PUT_NEW;
	uint64_t size = 0;
	struct put p;
	int r = put_begin(&p, dir, name);

	if (r)
		return file_jobs_fail(io, r, ask->path);
	put_guard(&p);
	r = receive_file_commit(io, ask, &p, &how, &size, hex);
	put_end(&p);
	if (r == 1)
		return etag_fail(io);
	io->damaged = p.damaged;
	return r ? file_jobs_fail(io, r, ask->path)
		 : receive_file_reply(io, ask, how, size, hex);
}

/* Makes the folder of p if it is missing. */
static int receive_file_make_folder(const struct file_path *p, bool sync)
{
	char folder[FILE_PATH_MAX];
	char *slash;
	int fd;

	memcpy(folder, p->abs, p->n + 1);
	slash = strrchr(folder, '/');
	if (slash == folder)
		return 0;
	*slash = '\0';
	fd = file_jobs_open_folder(folder, sync);
	if (fd < 0)
		return fd;
	fd_close(&fd);
	return 0;
}

int receive_file(struct transfer_io *io, const struct transfer_request *ask)
{
	char name[FILE_PATH_MAX];
	struct file_path p;
	int dir = -1;
	int r;

	if (!file_jobs_check_path(io, ask->path, &p, &r))
		return r;
	/* The trailing slash means a folder. */
	r = str_ends(ask->path, STR("/")) ? -EISDIR
					  : receive_file_make_folder(&p, ask->sync);
	if (!r)
		r = file_path_open_dir(&p, &dir, name);
	if (r)
		return file_jobs_fail(io, r, ask->path);
	r = receive_file_put(io, ask, dir, name);
	fd_close(&dir);
	return r;
}
