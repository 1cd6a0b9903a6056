#include "inject/names/owner.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HASH_DIGITS = 16, FILE_MAX = 4096, OLD_S = 3600, START_FIELD = 22 };

struct owner {
	struct str machine, boot;
	uint64_t space, pid, start, time;
};

/* --- This process ------------------------------------------------------------------- */

/* The first FILE_MAX bytes of a file without blanks at its ends; empty: it is missing. */
static struct str owner_read_file(const char *path, char room[FILE_MAX])
{
	int fd = fd_open(path, 0, 0);
	ssize_t n = fd < 0 ? -1 : fd_read_full(fd, room, FILE_MAX);

	fd_close(&fd);
	return n > 0 ? str_trim(str_make(room, (size_t)n), " \n") : STR("");
}

/* A hash, because a machine id is confidential; "-" for a missing file. */
static void owner_hash_file(const char *path, char out[HASH_DIGITS + 1])
{
	static const char salt[] = "od-runtime owner ";
	char room[FILE_MAX], hex[2 * SHA256_LEN + 1];
	struct str text = owner_read_file(path, room);
	uint8_t digest[SHA256_LEN];
	struct sha256 h;

	snprintf(out, HASH_DIGITS + 1, "-");
	if (!text.n)
		return;
	sha256_init(&h);
	sha256_update(&h, salt, sizeof(salt) - 1);
	sha256_update(&h, text.p, text.n);
	sha256_final(&h, digest);
	hex_encode(digest, sizeof(digest), hex);
	snprintf(out, HASH_DIGITS + 1, "%.*s", HASH_DIGITS, hex);
}

/*
 * The time at which a process started, in ticks since the boot. 0: the kernel does not
 * show it. 1, which is no start time: it has ended and waits for its parent.
 */
static uint64_t owner_read_start(uint64_t pid)
{
	char path[64], room[FILE_MAX];
	struct str rest, field = {0};
	uint64_t start;

	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	rest = owner_read_file(path, room);
	/* The second field is the program's name, with any bytes, in parentheses. */
	for (size_t n = rest.n; n > 0; n--)
		if (rest.p[n - 1] == ')') {
			rest = str_skip(rest, n + 1);
			break;
		}
	if (str_starts(rest, STR("Z")) || str_starts(rest, STR("X")))
		return 1;
	for (int i = 2; i < START_FIELD && rest.n; i++)
		field = str_cut(&rest, ' ');
	return str_u64(field, UINT64_MAX, &start) ? 0 : start;
}

static uint64_t owner_read_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : st.st_ino;
}

const char *owner_text(void)
{
	static char text[OWNER_MAX];
	char machine[HASH_DIGITS + 1], boot[HASH_DIGITS + 1];
	uint64_t start, space;

	if (text[0])
		return text;
	start = owner_read_start((uint64_t)getpid());
	space = owner_read_space();
	owner_hash_file("/etc/machine-id", machine);
	owner_hash_file("/proc/sys/kernel/random/boot_id", boot);
	if (start && space && boot[0] != '-')
		snprintf(text, sizeof(text), "%s.%s.%llu.%ld.%llu.%lld", machine, boot,
			(unsigned long long)space, (long)getpid(),
			(unsigned long long)start, (long long)clock_unix_s());
	return text;
}

void owner_label(const char *name, char out[OWNER_LABEL_MAX])
{
	const char *text = owner_text();

	out[0] = '\0';
	if (name)
		snprintf(out, OWNER_LABEL_MAX, "%s %s", name,
			text[0] ? text : OWNER_UNKNOWN);
}

/* --- Other processes ---------------------------------------------------------------- */

static int owner_parse(struct str text, struct owner *o)
{
	uint64_t *const numbers[] = {&o->space, &o->pid, &o->start, &o->time};

	o->machine = str_cut(&text, '.');
	o->boot = str_cut(&text, '.');
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (str_u64(str_cut(&text, '.'), INT64_MAX, numbers[i]))
			return ERR_SYNTAX;
	if (text.n || !o->boot.n || !o->pid || o->pid > INT32_MAX)
		return ERR_SYNTAX;
	return 0;
}

/* /proc may hide processes of other users, so the pid is checked first. */
static bool owner_is_running(const struct owner *o)
{
	uint64_t start;

	if (kill((pid_t)o->pid, 0) < 0 && errno == ESRCH)
		return false;
	start = owner_read_start(o->pid);
	return !start || start == o->start;
}

bool owner_is_label(struct str text)
{
	struct str name = str_cut(&text, ' ');
	struct owner o;

	return state_is_name(name) &&
		(str_eq(text, STR(OWNER_UNKNOWN)) || owner_parse(text, &o) == 0);
}

enum owner_state owner_find_state(struct str text)
{
	struct owner it, self;

	if (owner_parse(text, &it) || owner_parse(str_c(owner_text()), &self))
		return OWNER_ALIVE;
	if (str_eq(it.boot, self.boot))
		return it.space == self.space && !owner_is_running(&it) ? OWNER_ENDED
									: OWNER_ALIVE;
	if (str_eq(it.machine, STR("-")) || !str_eq(it.machine, self.machine))
		return OWNER_ALIVE;
	return self.time > it.time + OLD_S ? OWNER_REBOOTED : OWNER_ALIVE;
}

struct str owner_from_label(struct str label, struct str name)
{
	return str_eq(str_cut(&label, ' '), name) ? label : STR("");
}

struct str owner_from_name(struct str name)
{
	(void)str_cut(&name, '.');
	return name;
}
