#include "server/identity.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "limits.h"
#include "proc/container.h"
#include "proc/plugins_program.h"
#include "server/skill_path.h"
#include "skill/state.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORKDIR_WALK_MS = 3000 }; /* the start must not wait for a network disk */

/* Folders for state without another place, such as the home of a user without one. */
static const struct {
	const char *parent, *path;
} state_dirs[] = {
	{"/tmp/.", "/tmp/.od-state"},
	{"/var/tmp/.", "/var/tmp/.od-state"},
	/* Engines mount it in every container, also in a read-only one. */
	{"/dev/shm/.", "/dev/shm/.od-state"},
};

/* These variables are set for the shell, whatever the environment has. */
static const char *const replaced[] = {"HOME", "SHELL", "USER", "LOGNAME", "TERM", "PWD",
	"OLDPWD", "TMPDIR", "LINES", "COLUMNS", "PATH", SKILL_STATE_ENV};

/* For a server without PATH. */
static const char default_path[] =
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static const char *identity_find_state_dir(void)
{
	size_t i = 0;

	while (i < ARRAY_LEN(state_dirs) && access(state_dirs[i].parent, W_OK | X_OK) < 0)
		i++;
	return state_dirs[i % ARRAY_LEN(state_dirs)].path;
}

static void identity_log_notes(struct buf *notes)
{
	struct str rest = buf_view(notes);

	while (rest.n) {
		struct str line = str_cut(&rest, '\n');

		log_info("%.*s", STR_ARG(line));
	}
	buf_reset(notes);
}

static bool identity_may_manage_users(const struct config *c)
{
	if (c->manage_users == CONFIG_MANAGE_AUTO)
		return container_detect(c->is_first);
	return c->manage_users == CONFIG_MANAGE_ON;
}

static void identity_find_user(
	struct user_identity *w, const struct config *c, struct buf *notes)
{
	struct user_conf want = {
		.root = "",
		.name = str_c(c->username),
		.uid = c->uid,
		.shell = "/bin/sh",
		.env_user = getenv("USER"),
		.manage = identity_may_manage_users(c),
		.sudo = c->drop_in,
	};

	if (!c->as_user && user_find_uid("", geteuid(), &w->user) == 0)
		return;
	if (c->as_user)
		user_ensure(&want, &w->user, notes);
	else
		w->user = (struct user){
			.uid = geteuid(),
			.gid = getegid(),
			.origin = USER_SELF,
		};
}

/* Without a change of user no identity is set: setting it might be refused. */
static void identity_set_user(struct user_identity *w)
{
	w->identity = (struct spawn_user){.uid = w->user.uid, .gid = w->user.gid};
	if (w->user.uid == geteuid() && (w->user.uid != 0 || w->user.gid == getegid()))
		return;
	w->identity.ngroups = w->user.groups_n;
	memcpy(w->identity.groups, w->user.groups, w->identity.ngroups * sizeof(gid_t));
	w->setup.user = &w->identity;
}

/* The root of the image is never given away, whatever name the path has. */
static bool identity_is_root_dir(const char *path)
{
	struct stat root, st;

	return stat("/", &root) == 0 && stat(path, &st) == 0 &&
		root.st_dev == st.st_dev && root.st_ino == st.st_ino;
}

static void identity_prepare_cwd(
	struct user_identity *w, const struct config *c, bool again)
{
	struct workdir_report report;
	int r;

	if (!c->working_dir) {
		if (!getcwd(w->cwd, sizeof(w->cwd)))
			snprintf(w->cwd, sizeof(w->cwd), "/");
		return;
	}
	snprintf(w->cwd, sizeof(w->cwd), "%s", c->working_dir);
	if (identity_is_root_dir(w->cwd) || w->user.origin == USER_GIVEN)
		return;
	w->gives_cwd = geteuid() == 0;
	if (again)
		return;
	r = userdirs_make_work(
		w->cwd, &w->user, c->work_gid, clock_ms() + WORKDIR_WALK_MS, &report);
	if (r < 0)
		log_warn("working directory %s: %s", w->cwd, err_text(r));
	else if (report.stopped)
		log_warn("working directory %s: the owner of some files could not be "
			 "changed to %s: %s",
			w->cwd, w->user.name, report.stopped);
}

/* If working_dir_needed is not set, shells start in "/" if the user cannot enter it. */
static int identity_check_cwd(
	const struct user_identity *w, const struct config *c, bool again)
{
	const char *name = w->user.name;
	int r = 0;

	if (c->working_dir_needed && !again)
		r = spawn_check_folder(w->setup.user, w->cwd);
	if (r)
		log_error("user %s (uid %u) cannot enter the working directory %s: %s",
			*name ? name : "without a name", (unsigned)w->user.uid, w->cwd,
			err_text(r));
	return r;
}

static bool identity_is_overridden(const char *entry)
{
	size_t n = strcspn(entry, "=");

	for (size_t i = 0; i < ARRAY_LEN(replaced); i++)
		if (strlen(replaced[i]) == n && !strncmp(entry, replaced[i], n))
			return true;
	return false;
}

static int identity_add_variable(struct user_identity *w, const char **env, size_t *n,
	const char *name, const char *value)
{
	size_t room = strlen(name) + strlen(value) + 2;
	char *entry = arena_alloc(&w->memory, room);

	if (!entry)
		return -ENOMEM;
	snprintf(entry, room, "%s=%s", name, value);
	env[(*n)++] = entry;
	return 0;
}

/* False: the shells have no skills. The reason is logged. */
static bool identity_make_skills(char folder[USER_PATH_MAX])
{
	char program[FILE_PATH_MAX];
	struct buf why = BUF_INIT(2 * FILE_PATH_MAX);
	int r = plugins_program_find(program);

	if (r)
		plugins_program_explain(program, r, &why);
	else if ((r = skill_path_make(program, identity_find_state_dir(), folder)))
		buf_puts(&why, err_text(r));
	if (r)
		log_info("the shells have no skills: %.*s", STR_ARG(buf_view(&why)));
	buf_free(&why);
	return !r;
}

/*
 * The skills come last on PATH, so that they hide no program of the image. Their state is
 * in files with random names, which others cannot guess.
 */
static int identity_add_skills(
	struct user_identity *w, const char **env, size_t *n, const char *tmp)
{
	const char *given = getenv("PATH");
	const char *path = given ? given : default_path;
	char folder[USER_PATH_MAX], front[USER_PATH_MAX + 64], hex[2 * 16 + 1];
	uint8_t nonce[16];
	size_t room = strlen(path) + sizeof(folder) + 1;
	char *both;
	int r;

	if (!identity_make_skills(folder))
		return identity_add_variable(w, env, n, "PATH", path);
	both = arena_alloc(&w->memory, room);
	if (!both)
		return -ENOMEM;
	snprintf(both, room, "%s:%s", path, folder);
	r = identity_add_variable(w, env, n, "PATH", both);
	if (r || random_bytes(nonce, sizeof(nonce)) < 0)
		return r;
	hex_encode(nonce, sizeof(nonce), hex);
	snprintf(front, sizeof(front), "%s/.od-skills-%s", tmp, hex);
	return identity_add_variable(w, env, n, SKILL_STATE_ENV, front);
}

/*
 * Sets the variables that su sets, a terminal type that nearly every image has, and
 * UTF-8.
 */
static int identity_make_env(struct user_identity *w)
{
	char home[USER_PATH_MAX], tmp[USER_PATH_MAX];
	const char *env_tmp = getenv("TMPDIR");
	const char **env;
	size_t have = 0, n = 0;
	int r = 0;

	while (environ[have])
		have++;
	env = arena_array(&w->memory, have + ARRAY_LEN(replaced) + 2, sizeof(*env));
	if (!env)
		return -ENOMEM;
	for (size_t i = 0; i < have; i++)
		if (!identity_is_overridden(environ[i]))
			env[n++] = environ[i];
	if (userdirs_find_home(&w->user, w->setup.user ? NULL : getenv("HOME"),
		    identity_find_state_dir(), home) < 0)
		snprintf(home, sizeof(home), "/");
	r |= identity_add_variable(w, env, &n, "HOME", home);
	if (userdirs_find_tmp(&w->user, env_tmp, identity_find_state_dir(), tmp) < 0)
		snprintf(tmp, sizeof(tmp), "/tmp");
	if (env_tmp || strcmp(tmp, "/tmp") != 0)
		r |= identity_add_variable(w, env, &n, "TMPDIR", tmp);
	r |= identity_add_skills(w, env, &n, tmp);
	if (w->setup.path)
		r |= identity_add_variable(w, env, &n, "SHELL", w->setup.path);
	if (w->user.name[0]) {
		r |= identity_add_variable(w, env, &n, "USER", w->user.name);
		r |= identity_add_variable(w, env, &n, "LOGNAME", w->user.name);
	}
	r |= identity_add_variable(w, env, &n, "TERM", "xterm-256color");
	if (!getenv("LANG") && !getenv("LC_ALL"))
		r |= identity_add_variable(w, env, &n, "LANG", "C.UTF-8");
	assert(n < have + ARRAY_LEN(replaced) + 2);
	w->setup.env = env;
	return r ? -ENOMEM : 0;
}

int identity_find(struct user_identity *w, const struct config *c, bool again)
{
	struct buf notes = BUF_INIT(USER_NOTES_MAX);
	struct shells_place place = {.root = ""};
	int r;

	memset(w, 0, sizeof(*w));
	arena_init(&w->memory, IDENTITY_MEMORY_MAX);
	buf_init(&w->missing, USER_NOTES_MAX);
	identity_find_user(w, c, &notes);
	identity_log_notes(&notes);
	identity_set_user(w);
	identity_prepare_cwd(w, c, again);
	place.user = w->setup.user;
	if (shells_find(&place, c->shell, &w->shell, &w->missing) == 0) {
		w->setup.path = w->shell.path;
		w->setup.arg0 = w->shell.arg0;
		w->setup.kind = w->shell.kind;
		identity_log_notes(&w->missing);
	} else {
		w->missing.n -= w->missing.n && w->missing.p[w->missing.n - 1] == '\n';
		w->setup.missing = buf_cstr(&w->missing);
	}
	w->setup.cwd = w->cwd;
	r = identity_check_cwd(w, c, again);
	if (!r)
		r = identity_make_env(w);
	buf_free(&notes);
	return r;
}

void identity_free(struct user_identity *w)
{
	arena_reset(&w->memory);
	buf_free(&w->missing);
}
