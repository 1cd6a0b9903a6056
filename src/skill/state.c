#include "skill/state.h"

#include "base/fd.h"
#include "fs/load.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* load_read_part reserves space in pieces. */
enum { RECORD_MAX = 128 << 10 };

/*
 * Each shell of the sandbox is a kernel session, so that the session ID identifies the
 * shell. The prefix contains random bytes: files from before a restart have other names.
 */
static bool skill_state_make_path(const char *suffix, char path[FILE_PATH_MAX])
{
	const char *front = getenv(SKILL_STATE_ENV), *given = getenv(SKILL_ID_ENV);
	char id[32];
	int n;

	if (!front || front[0] != '/')
		return false;
	snprintf(id, sizeof(id), "%d", (int)getsid(0));
	if (given && given[0] && !strchr(given, '/'))
		snprintf(id, sizeof(id), "%s", given);
	n = snprintf(path, FILE_PATH_MAX, "%s-%s%s", front, id, suffix);
	return n > 0 && n < FILE_PATH_MAX;
}

static bool skill_state_is_own(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

void skill_state_read(const char *suffix, struct buf *out)
{
	char path[FILE_PATH_MAX];
	int fd;

	if (!skill_state_make_path(suffix, path))
		return;
	fd = fd_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd >= 0 &&
		(!skill_state_is_own(fd) || load_read_part(fd, 0, out->max, out) < 0))
		buf_reset(out);
	fd_close(&fd);
}

void skill_state_write(const char *suffix, struct str text)
{
	char path[FILE_PATH_MAX];
	int fd;

	if (!skill_state_make_path(suffix, path))
		return;
	fd = fd_open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd >= 0 && skill_state_is_own(fd) && ftruncate(fd, 0) == 0 &&
		fd_write_all(fd, text.p, text.n) < 0)
		unlink(path);
	fd_close(&fd);
}

void skill_state_load(struct skill_state *s)
{
	struct buf record = BUF_INIT(RECORD_MAX);
	struct str rest, number;
	uint64_t line;

	*s = (struct skill_state){.line = 1};
	skill_state_read("", &record);
	rest = buf_view(&record);
	number = str_cut(&rest, ' ');
	if (rest.n < sizeof(s->path) && str_u64(number, INT64_MAX, &line) == 0) {
		memcpy(s->path, rest.p, rest.n);
		s->path[rest.n] = '\0';
		s->line = line;
	}
	buf_free(&record);
}

void skill_state_save(const struct skill_state *s)
{
	struct buf record = BUF_INIT(RECORD_MAX);

	buf_fmt(&record, "%" PRIu64 " %s", s->line, s->path);
	if (!record.err)
		skill_state_write("", buf_view(&record));
	buf_free(&record);
}
