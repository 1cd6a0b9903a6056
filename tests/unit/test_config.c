#include "base/fd.h"
#include "config.h"
#include "limits.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 32 };

#define US "/.od/od-runtime-client"
#define MODULE "openhands.runtime.action_execution_server"
#define MICROMAMBA \
	"/openhands/micromamba/bin/micromamba run -n openhands poetry run python -u -m "

static struct config c;
static struct buf errors = BUF_INIT(1 << 16);

/* Reads a command line whose words are cut at blanks. */
static int read_line_as_is(const char *line)
{
	static char words[4096];
	static char *argv[WORDS + 1]; /* some of it is pointed to */
	int argc = 0;

	snprintf(words, sizeof(words), "%s", line);
	for (char *w = strtok(words, " "); w && argc < WORDS; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	buf_reset(&errors);
	return config_read(&c, argc, argv, &errors);
}

/* With --no-key behind the port: most tests are not about the key. */
static int read_line(const char *line)
{
	static char more[4096];
	const char *port = strstr(line, " 3000");
	int n = port ? (int)(port - line) + (int)strlen(" 3000") : 0;

	if (n && (line[n] == '\0' || line[n] == ' '))
		snprintf(more, sizeof(more), "%.*s --no-key%s", n, line, line + n);
	else
		snprintf(more, sizeof(more), "%s", line);
	return read_line_as_is(more);
}

struct row {
	const char *line;
	enum config_role role;
	unsigned port;
	const char *dir, *user; /* NULL: none, openhands */
	unsigned uid;           /* 0: 1000 */
	bool no_browser;
};

static const struct row rows[] = {
	/* The command lines of unmodified backends, oldest last. */
	{MICROMAMBA MODULE
		" 34512 --working-dir /workspace --plugins agent_skills jupyter "
		"vscode --username openhands --user-id 1000",
		ROLE_INIT, 34512, "/workspace", NULL, 0, false},
	{MICROMAMBA MODULE
		" 34512 --working-dir /workspace --plugins agent_skills jupyter "
		"vscode --username root --user-id 0 --no-enable-browser",
		ROLE_INIT, 34512, "/workspace", "root", 0xffffffff, true},
	{MICROMAMBA MODULE
		" 34512 --working-dir /w --plugins jupyter --username openhands "
		"--user-id 1001 --git-user-name openhands --git-user-email a@b",
		ROLE_INIT, 34512, "/w", NULL, 1001, false},
	{MICROMAMBA "openhands.runtime.client.client 60000 --working-dir /workspace",
		ROLE_INIT, 60000, "/workspace", NULL, 0, false},
	{"/openhands/miniforge3/bin/mamba run --no-capture-output -n base "
	 "PYTHONUNBUFFERED=1 "
	 "poetry run python -u -m openhands.runtime.client.client 39999 --working-dir /w "
	 "--username openhands --user-id 5",
		ROLE_INIT, 39999, "/w", NULL, 5, false},
	{"/opendevin/miniforge3/bin/mamba run --no-capture-output -n base poetry run "
	 "python -u "
	 "-m opendevin.runtime.client.client 30000 --working-dir /w",
		ROLE_INIT, 30000, "/w", NULL, 0, false},
	{"micromamba run -n openhands 34512", ROLE_INIT, 34512, NULL, NULL, 0, false},
	/* A number in front of the module is none of ours. */
	{"micromamba run -n 7 python " MODULE " 34512", ROLE_INIT, 34512, NULL, NULL, 0,
		false},
	/* Options that do not exist yet, with a value, with several, with none. */
	{MICROMAMBA MODULE
		" 34512 --new-one x --working-dir /w --newer --newest=5 --user-id 7",
		ROLE_INIT, 34512, "/w", NULL, 7, false},
	{MICROMAMBA MODULE " --new-one 34512 --working-dir /w", ROLE_INIT, 34512, "/w",
		NULL, 0, false},
	{MICROMAMBA MODULE " --new-one=5 34512 stray --working-dir /w", ROLE_INIT, 34512,
		"/w", NULL, 0, false},
	/* Our own. */
	{US " 3000", ROLE_SERVE, 3000, NULL, NULL, 0, false},
	{US " serve 3000", ROLE_SERVE, 3000, NULL, NULL, 0, false},
	{US " init 3000", ROLE_INIT, 3000, NULL, NULL, 0, false},
	{US " health 3000", ROLE_HEALTH, 3000, NULL, NULL, 0, false},
	{US " shell 3000 --username me --plugins jupyter vscode", ROLE_SHELL, 3000, NULL,
		"me", 0, false},
	{US " 1 --no-key", ROLE_SERVE, 1, NULL, NULL, 0, false},
	{US " 65535 --no-key", ROLE_SERVE, 65535, NULL, NULL, 0, false},
	{US " --working-dir /w 3000 --username me.too_-1", ROLE_SERVE, 3000, "/w",
		"me.too_-1", 0, false},
	{US " --working-dir=/w=x --username=me --user-id=12 3000", ROLE_SERVE, 3000,
		"/w=x", "me", 12, false},
	{US " 3000 --plugins jupyter vscode --working-dir /w", ROLE_SERVE, 3000, "/w",
		NULL, 0, false},
	{US " 3000 --plugins=jupyter vscode --no-enable-browser", ROLE_SERVE, 3000, NULL,
		NULL, 0, true},
	{US " 3000 --file-viewer", ROLE_SERVE, 3000, NULL, NULL, 0, false},
	{US " 3000 --enable-browser", ROLE_SERVE, 3000, NULL, NULL, 0, false},
	{US " 3000 --cdp ws://h:1/x --cdp http://[::1]:9222", ROLE_SERVE, 3000, NULL,
		NULL, 0, false},
	{US " 3000 --browsergym-eval-env a b", ROLE_SERVE, 3000, NULL, NULL, 0, false},
	{US " 3000 --working-dir /a --working-dir /b", ROLE_SERVE, 3000, "/b", NULL, 0,
		false},
	{US " --version", ROLE_VERSION, 0, NULL, NULL, 0, false},
	{US " --licences", ROLE_LICENCES, 0, NULL, NULL, 0, false},
	{US " --help", ROLE_HELP, 0, NULL, NULL, 0, false},
	{US " help me", ROLE_HELP, 0, NULL, NULL, 0, false},
};

static void check_row(const struct row *row)
{
	unsigned uid = row->uid ? row->uid == 0xffffffff ? 0 : row->uid : 1000;

	if (!is_int(read_line(row->line), 0, "%s", row->line))
		printf("# %.*s", STR_ARG(buf_view(&errors)));
	is_int(c.role, row->role, "the role");
	is_int(c.port, row->port, "the port");
	is_str(c.working_dir, row->dir, "the working directory");
	is_str(c.username, row->user ? row->user : "openhands", "the user");
	is_int(c.uid, uid, "his id");
	ok((c.browser == CONFIG_BROWSER_OFF) == row->no_browser, "the browser");
	ok((c.browser == CONFIG_BROWSER_ON) == !!strstr(row->line, " --enable-browser"),
		"started at once or not");
	ok(c.viewer ==
			(strstr(row->line, "--file-viewer") ||
				(!str_starts(str_c(row->line), STR(US)) &&
					!row->no_browser)),
		"the file viewer: by option, and with each browser of a drop-in");
	is_int(errors.n, 0, "no errors");
}

static const struct {
	const char *line;
	const char *want;
} bad[] = {
	{US, "no port: the first number is the TCP port to listen on\n"},
	{US " 0", "port 0: must be from 1 to 65535\n"},
	{US " 65536", "port 65536: must be from 1 to 65535\n"},
	{US " 99999999999999999999",
		"port 99999999999999999999: must be from 1 to 65535\n"},
	{US " 3000 --address 1.2.3",
		"--address 1.2.3: must be a numeric IPv4 or IPv6 address\n"},
	{US " 3000 --address localhost",
		"--address localhost: must be a numeric IPv4 or IPv6 address\n"},
	{US " 3000 3001", "3001: unexpected argument (see --help)\n"},
	{US " 3000 word", "word: unexpected argument (see --help)\n"},
	{US " 3000 -v", "-v: unexpected argument (see --help)\n"},
	{US " 3000 --unknown", "--unknown: unknown option (see --help)\n"},
	{US " 3000 --unknown value", "--unknown: unknown option (see --help)\n"},
	{US " 3000 --working-dir", "--working-dir: needs a value\n"},
	{US " 3000 --working-dir --username u", "--working-dir: needs a value\n"},
	{US " 3000 --working-dir here", "--working-dir here: must be an absolute path\n"},
	{US " 3000 --username a:b", "--username a:b: is not a user name\n"},
	{US " 3000 --username=", "--username : is not a user name\n"},
	{US " 3000 --username -x", "--username -x: is not a user name\n"},
	{US " 3000 --user-id x", "--user-id x: must be a number in range\n"},
	{US " 3000 --user-id -1", "--user-id -1: must be a number in range\n"},
	{US " 3000 --user-id 2147483648",
		"--user-id 2147483648: must be a number in range\n"},
	{US " 3000 --plugins", "--plugins: needs a value\n"},
	{US " 3000 --plugins jupyter x",
		"--plugins x: is not one of agent_skills, browser, jupyter, mcp, "
		"vscode, "
		"and no folder in /.od/plugins\n"},
	{US " 3000 --no-enable-browser=yes", "--no-enable-browser yes: takes no value\n"},
	{US " 3000 --browsergym-eval-env a --no-enable-browser",
		"Browser environment is not enabled in config, but browsergym_eval_env "
		"is set\n"},
	{US " 3000 --cdp wss://h/x",
		"--cdp wss://h/x: must be ws://HOST:PORT/PATH or http://HOST:PORT\n"},
	{US " 3000 --cdp 9222",
		"--cdp 9222: must be ws://HOST:PORT/PATH or http://HOST:PORT\n"},
	{US " 3000 --tls-cert /c", "--tls-cert and --tls-key need each other\n"},
	{US " 3000 --tls-key /k", "--tls-cert and --tls-key need each other\n"},
	{US " 3000 --key-sha256 00ff",
		"--key-sha256 00ff: must be 64 hexadecimal digits\n"},
	{US " 3000 --entrypoint run",
		"--entrypoint: the program is missing; give it after --\n"},
	{US " 3000 --entrypoint always -- x",
		"--entrypoint always: is not none, run or wait\n"
		"--: a program is given without --entrypoint\n"},
	{US " copy-self", "copy-self: needs one destination\n"},
	{US " copy-self /a /b", "copy-self: needs one destination\n"},
	{US " health", "no port: the first number is the TCP port to listen on\n"},
	{MICROMAMBA MODULE " --working-dir /w",
		"no port: the first number is the TCP port to listen on\n"},
	{MICROMAMBA MODULE " 34512 --user-id x",
		"--user-id x: must be a number in range\n"},
};

static void check_bad(void)
{
	char long_dir[USER_PATH_MAX + 100] = "";

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		is_int(read_line(bad[i].line), -EINVAL, "%s", bad[i].line);
		is_view(buf_view(&errors), bad[i].want, "says what is wrong");
	}
	memset(long_dir, 'd', sizeof(long_dir) - 1);
	memcpy(long_dir, US " 3000 --working-dir /",
		sizeof(US " 3000 --working-dir /") - 1);
	is_int(read_line(long_dir), -EINVAL, "a directory that is too long");
	ok(str_ends(buf_view(&errors), STR("is too long a path\n")), "says so");
	read_line(US " 70000 --working-dir x --user-id y --nonsense --tls-cert /c");
	ok(str_find(buf_view(&errors), STR("port 70000:")) < errors.n &&
			str_find(buf_view(&errors), STR("--working-dir x:")) < errors.n &&
			str_find(buf_view(&errors), STR("--user-id y:")) < errors.n &&
			str_find(buf_view(&errors), STR("--nonsense:")) < errors.n &&
			str_find(buf_view(&errors), STR("need each other")) < errors.n,
		"all errors are told at once");
}

static void check_options(void)
{
	is_int(read_line(US " 3000"), 0, "without options");
	is_str(c.address, "0.0.0.0", "all addresses");
	ok(!c.has_key && !c.tls_cert && !c.tls_key && !c.shell,
		"no key, no TLS, any shell");
	is_int(c.no_change_s, 10, "ten seconds of silence");
	is_int(read_line_as_is(US
		       " 3000 --address ::1 --shell /bin/dash --tls-cert /c --tls-key /k "
		       "--tls-client-ca=/a --connect-cert /d --connect-key /e "
		       "--key-sha256 "
		       "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eF"
		       "F"),
		0, "with options");
	is_str(c.address, "::1", "the address");
	is_str(c.shell, "/bin/dash", "the shell");
	is_str(c.tls_cert, "/c", "the certificate");
	is_str(c.tls_key, "/k", "its key");
	is_str(c.tls_client_ca, "/a", "who is let in");
	ok(!strcmp(c.connect_cert, "/d") && !strcmp(c.connect_key, "/e"),
		"what is shown by it");
	ok(c.has_key && c.key[0] == 0 && c.key[30] == 0x1e && c.key[31] == 0xff,
		"the digest");
	is_int(read_line(US " 3000 --plugins jupyter --entrypoint wait -- /e --help"), 0,
		"an entrypoint");
	ok(c.entrypoint == CONFIG_ENTRYPOINT_WAIT && c.plugins, "and what else there is");
	is_str(c.entrypoint_words[0], "/e", "its program");
	is_str(c.entrypoint_words[1], "--help", "whose options are its own");
	ok(!c.entrypoint_words[2], "and no more");
	is_int(read_line(US " copy-self /x/y"), 0, "copy-self");
	is_str(c.copy_target, "/x/y", "its destination");
	ok(c.role == ROLE_COPY_SELF, "its role");
	ok(strstr(config_usage(), "--working-dir") && strstr(config_usage(), "copy-self"),
		"the usage names options and roles");
}

static void check_no_change(const char *value, int want, unsigned seconds)
{
	setenv("NO_CHANGE_TIMEOUT_SECONDS", value, 1);
	is_int(read_line(US " 3000"), want, "NO_CHANGE_TIMEOUT_SECONDS=%s", value);
	if (want == 0)
		is_int(c.no_change_s, seconds, "is taken");
	unsetenv("NO_CHANGE_TIMEOUT_SECONDS");
}

static void check_group(const char *value, int want, unsigned gid)
{
	setenv("SANDBOX_GROUP_ID", value, 1);
	is_int(read_line(US " 3000"), want, "SANDBOX_GROUP_ID=%s", value);
	if (want == 0)
		is_int(c.work_gid, gid, "is taken");
	unsetenv("SANDBOX_GROUP_ID");
}

static void check_su(const char *value, const char *line, bool as_user)
{
	if (value)
		setenv("SU_TO_USER", value, 1);
	read_line(line);
	ok(c.as_user == as_user, "SU_TO_USER=%s, %s: %s", value ? value : "(unset)", line,
		as_user ? "another user" : "the server's own");
	unsetenv("SU_TO_USER");
}

static const struct {
	const char *line;
	enum config_manage manage;
	bool drop_in;
} manage_rows[] = {
	{US " 3000", CONFIG_MANAGE_AUTO, false},
	{US " 3000 --manage-users", CONFIG_MANAGE_ON, false},
	{US " 3000 --no-manage-users", CONFIG_MANAGE_OFF, false},
	{US " 3000 --no-manage-users --manage-users", CONFIG_MANAGE_ON, false},
	{"/openhands/micromamba/bin/micromamba run -m x.action_execution_server 3000",
		CONFIG_MANAGE_ON, true},
	{"/opendevin/miniforge3/bin/mamba run python -m x.client.client 3000",
		CONFIG_MANAGE_ON, true},
	{"/openhands/x/micromamba run x.client.client 3000 --no-manage-users",
		CONFIG_MANAGE_OFF, true},
	{"/usr/bin/micromamba run -m x.client.client 3000", CONFIG_MANAGE_AUTO, true},
	{"/openhands/od-runtime-client 3000", CONFIG_MANAGE_AUTO, false},
};

static void check_manage(void)
{
	for (size_t i = 0; i < ARRAY_LEN(manage_rows); i++) {
		is_int(read_line(manage_rows[i].line), 0, "%s", manage_rows[i].line);
		is_int(c.manage_users, manage_rows[i].manage, "whether users are added");
		ok(c.drop_in == manage_rows[i].drop_in, "whether it is the drop-in");
		ok(!c.is_first, "this is not process 1");
	}
}

static void check_environment(void)
{
	static const char *const yes[] = {"1", "true", "T", "yes", "Y", "ON"};
	static const char *const no[] = {"0", "false", "no", "off", "", "2"};

	check_no_change("1", 0, 1);
	check_no_change("86400", 0, 86400);
	check_no_change("86401", -EINVAL, 0);
	check_no_change("1.5", -EINVAL, 0);
	check_no_change("-1", -EINVAL, 0);
	check_no_change("", -EINVAL, 0);
	check_group("root", 0, 0);
	check_group("1234", 0, 1234);
	check_group("staff", -EINVAL, 0);
	check_group("4294967295", -EINVAL, 0);
	check_su(NULL, US " 3000", true);
	check_su(NULL, US " 3000 --username root", true);
	check_su(NULL, US " 3000 --username other", true);
	check_su("no", US " 3000 --username other", false);
	check_su(NULL, MICROMAMBA MODULE " 3000 --username root", true);
	check_su(NULL, MICROMAMBA MODULE " 3000 --username other", false);
	for (size_t i = 0; i < ARRAY_LEN(yes); i++)
		check_su(yes[i], US " 3000", true);
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		check_su(no[i], US " 3000", false);
	setenv("RUNTIME_USERNAME", "other", 1);
	check_su(NULL, MICROMAMBA MODULE " 3000 --username other", true);
	check_su("no", MICROMAMBA MODULE " 3000 --username other", false);
	check_su(NULL, US " 3000", true);
	unsetenv("RUNTIME_USERNAME");
}

/* In a program of its own, whose environment the kernel has laid out. */
static int with_key(void)
{
	static char all[65536];
	uint8_t digest[SHA256_LEN];
	int fd;
	ssize_t n;

	sha256_compute(STR("s3cret-in-the-environment"), digest);
	if (read_line_as_is(US " 3000") != 0 || !c.has_key ||
		!hash_equal(c.key, digest, sizeof(digest)))
		return 1;
	if (getenv("SESSION_API_KEY"))
		return 2;
	fd = fd_open("/proc/self/environ", O_RDONLY, 0);
	n = fd < 0 ? -1 : read(fd, all, sizeof(all));
	fd_close(&fd);
	if (n <= 0 || str_find(str_make(all, (size_t)n), STR("BEFORE=1")) == (size_t)n ||
		str_find(str_make(all, (size_t)n), STR("AFTER=2")) == (size_t)n)
		return 3;
	return str_find(str_make(all, (size_t)n), STR("s3cret")) < (size_t)n ? 4 : 0;
}

/* Of a child whose machine does not know this program's architecture. */
enum { NO_EXEC = 98 };

static int run_again(const char *key)
{
	char *const argv[] = {(char[]){"test_config"}, (char[]){"with-key"}, NULL};
	char variable[64];
	char *const env[] = {(char[]){"BEFORE=1"}, variable, (char[]){"AFTER=2"}, NULL};
	int status = -1;
	pid_t pid;

	snprintf(variable, sizeof(variable), "SESSION_API_KEY=%s", key);
	pid = fork();
	if (pid == 0) {
		execve("/proc/self/exe", argv, env);
		_exit(errno == ENOEXEC ? NO_EXEC : 99);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const struct key_text_row {
	const char *line;
	int result;
	bool open;
} key_rows[] = {
	{US " 3000", -EINVAL, true},
	{US " serve 3000 --address 0.0.0.0", -EINVAL, true},
	{US " init 3000 --address ::", -EINVAL, true},
	{US " init 3000 --address 128.0.0.1", -EINVAL, true},
	{US " init 3000 --address ::2", -EINVAL, true},
	{US " init 3000 --address ::ffff:1.2.3.4", -EINVAL, true},
	{US " 3000 --no-key", 0, true},
	{US " 3000 --address 127.0.0.1", 0, false},
	{US " 3000 --address 127.9.9.9", 0, false},
	{US " 3000 --address ::1", 0, false},
	{US " 3000 --address ::ffff:127.0.0.1", 0, false},
	{US " 3000 --tls-self --tls-client-ca /a", 0, false},
	{US " 3000 --tls-self", -EINVAL, true},
	{US " shell 3000", 0, true},
	{US " health 3000", 0, true},
	{US " connect 3000", 0, true},
	{MICROMAMBA MODULE " 3000", 0, true},
};

static void check_key_rows(void)
{
	for (size_t i = 0; i < ARRAY_LEN(key_rows); i++) {
		const struct key_text_row *row = &key_rows[i];

		is_int(read_line_as_is(row->line), row->result, "%s", row->line);
		ok(config_is_open(&c) == row->open, "it is %s",
			row->open ? "open" : "not open");
	}
	read_line_as_is(US " 3000");
	is_view(buf_view(&errors),
		"no session key: every program that can connect to 0.0.0.0 could run "
		"commands here. "
		"Set SESSION_API_KEY or --key-sha256, or accept the risk with --no-key\n",
		"the error has the ways out");
}

#define HEX_KEY "1111111111111111111111111111111111111111111111111111111111111111"

static void check_key(void)
{
	static const char name[] = "the key is wiped where it stands, its digest is kept";
	int r = run_again("s3cret-in-the-environment");

	if (r == NO_EXEC)
		skip(name, "this machine executes the program by an emulator only");
	else
		is_int(r, 0, "%s", name);
	setenv("SESSION_API_KEY", "", 1);
	is_int(read_line(US " 3000"), 0, "an empty key");
	ok(!c.has_key, "is none");
	ok(!getenv("SESSION_API_KEY"), "and not passed on");
	setenv("SESSION_API_KEY", "k", 1);
	is_int(read_line_as_is(US " 3000 --no-key"), -EINVAL, "--no-key beside a key");
	is_int(read_line_as_is(US " 3000 --key-sha256 " HEX_KEY " --no-key"), -EINVAL,
		"--no-key beside a digest");
	setenv("SESSION_API_KEY", "k", 1);
	is_int(read_line_as_is(US " 3000 --key-sha256 " HEX_KEY), 0, "two keys");
	ok(c.has_key && c.key[0] == 0x11 && c.key[31] == 0x11, "the option's counts");
	ok(!getenv("SESSION_API_KEY"), "and the other is not passed on");
	setenv("SESSION_API_KEY", "k", 1);
	is_int(read_line(US " 3000 --nonsense"), -EINVAL, "with errors");
	ok(!getenv("SESSION_API_KEY"), "the key is not passed on either");
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "with-key"))
		return with_key();
	unsetenv("SESSION_API_KEY");
	unsetenv("NO_CHANGE_TIMEOUT_SECONDS");
	unsetenv("SU_TO_USER");
	unsetenv("RUNTIME_USERNAME");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i]);
	check_bad();
	check_options();
	check_manage();
	check_environment();
	check_key();
	unsetenv("SESSION_API_KEY");
	check_key_rows();
	buf_free(&errors);
	return done_testing();
}
