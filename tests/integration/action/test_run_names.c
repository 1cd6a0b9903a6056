/* Values that a shell prints for $0 and for PS1. */
#include "tests/support/run_driver.h"

#include <sys/stat.h>

static const char *name;

static void is_done(struct seen s, const char *content, const char *what)
{
	if (content)
		is_view(s.content, content, "%s: %s: content", name, what);
	is_int(s.exit_code, 0, "%s: %s: exit code", name, what);
}

/* The length of the longest run of hexadecimal digits. */
static size_t longest_hex(struct str s)
{
	size_t run = 0, most = 0;

	for (size_t i = 0; i < s.n; i++) {
		run = strchr("0123456789abcdef", s.p[i]) ? run + 1 : 0;
		most = run > most ? run : most;
	}
	return most;
}

/* PS1 names variables. It holds no secret and cannot act on a terminal. */
static void check_prompt(void)
{
	struct seen s = RUN("printf '%s' \"$PS1\" | od -An -c");

	ok(s.content.n && !contains(s.content, "033") && !contains(s.content, "\\a"),
		"%s: PS1 holds no control byte", name);
	s = RUN("printf '%s' \"$PS1\"");
	ok(contains(s.content, "__od_") && !contains(s.content, "7777"),
		"%s: PS1 names variables", name);
	ok(longest_hex(s.content) < 16, "%s: PS1 holds no nonce", name);
	/* zsh expands its PS1 by a flag that no other shell has. */
	if (drv.row->kind != SHELLS_ZSH)
		is_done(RUN("PS1=\"$PS1\" bash -c 'eval \"echo \\\"[$PS1]\\\"\"'"), "[]",
			"a process that inherits PS1 alone has an empty prompt");
	is_done(RUN("PS1='mine> '"), "", "a command sets PS1");
	is_done(RUN("echo on"), "on", "the next command ends");
}

static bool is_ash(void)
{
	return drv.row->kind == SHELLS_ASH;
}

/* As in a terminal of a person: the name that the shell was started by. */
static void check_name(void)
{
	is_done(RUN("echo $0"), is_ash() ? "sh" : drv.row->arg0, "$0");
	ok(!contains(RUN("nosuchcommand; true").content, "/dev/tty"),
		"%s: an error does not name the terminal", name);
}

/* PWD and the directory itself are real; no OLDPWD comes from the start. */
static void check_directory(const char *given, const char *real, const char *what)
{
	bool zsh = drv.row->kind == SHELLS_ZSH;
	char both[256];

	drv.setup.cwd = given;
	open_session();
	snprintf(both, sizeof(both), "[%s] [%s] []", real, real);
	/* zsh itself sets OLDPWD at its start. */
	is_done(RUN(zsh ? "echo \"[$PWD] [$(/bin/pwd)] []\""
			: "echo \"[$PWD] [$(/bin/pwd)] [${OLDPWD-}]\""),
		both, what);
	if (!zsh)
		is_done(RUN("env | grep OLDPWD=; set | grep ^OLDPWD=.; :"), "",
			"OLDPWD is unset");
	is_done(RUN("ls -A | wc -l | tr -d ' '; echo $?"), real[1] ? "0\n0" : NULL,
		"nothing is made in the directory");
	session_del(drv.box.session);
	loop_del(drv.loop);
}

static void check_directories(const struct shell_row *row)
{
	char given[128], link[128];

	open_home(row);
	snprintf(given, sizeof(given), "%s/a 'b' \"$c\" \\d\n*", drv.dir);
	snprintf(link, sizeof(link), "%s/link", drv.dir);
	if (mkdir(given, 0755) < 0 || symlink(given, link) < 0)
		ok(false, "directories can be made");
	check_directory(given, given, "a name with quotes");
	check_directory(link, given, "a link");
	check_directory("/", "/", "the root");
	close_home();
	open_home(row);
	snprintf(given, sizeof(given), "%s/missing", drv.dir);
	drv.setup.cwd = given;
	open_session();
	is_done(RUN("pwd"), "/", "a directory that is missing");
	close_session();
}

/* A start-up file is executed in the working directory and may change it. */
static void check_startup(const struct shell_row *row)
{
	char entry[288];

	if (row->kind == SHELLS_BASH || row->kind == SHELLS_ZSH) {
		skip(row->name, "ENV names no start-up file");
		return;
	}
	open_home(row);
	snprintf(entry, sizeof(entry), "ENV=%s", in_home("startup"));
	write_home("startup", "seen=$PWD; cd /usr\n");
	drv.env[4] = entry;
	open_session();
	is_done(RUN("echo \"$seen\"; pwd"), NULL, "a start-up file");
	ok(str_eq(RUN("echo \"$seen\"").content, str_c(drv.dir)),
		"%s: a start-up file runs in the working directory", name);
	is_done(RUN("pwd"), "/usr", "and can leave it");
	close_session();
	drv.env[4] = NULL;
}

/* The folder with the name is made by one user and entered by another. */
static void check_user(const struct shell_row *row)
{
	static const struct spawn_user other = {.uid = 65534, .gid = 65534};

	if (geteuid() != 0) {
		skip(row->name, "only root starts shells of another user");
		return;
	}
	open_home(row);
	drv.setup.user = &other;
	drv.setup.cwd = "/usr";
	open_session();
	is_done(RUN("echo $0; pwd; id -u"), is_ash() ? "sh\n/usr\n65534" : NULL,
		"a shell of another user");
	close_session();
	drv.setup.user = NULL;
}

static void check_all(const struct shell_row *row)
{
	name = row->name;
	if (!shell_wanted(row))
		return;
	open_home(row);
	open_session();
	check_name();
	check_prompt();
	close_session();
	check_directories(row);
	check_startup(row);
	check_user(row);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(shell_rows); i++)
		check_all(&shell_rows[i]);
	driver_free();
	return done_testing();
}
