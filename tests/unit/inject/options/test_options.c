#include "inject/options/options.h"

#include "inject/console/out.h"
#include "inject/options/manual.h"
#include "inject/options/options_rows.h"
#include "inject/options/options_sets.h"
#include "tests/tap.h"

enum { WORDS_MAX = 16 };

static struct command_line o;

static int read_arguments(int argc, char **argv)
{
	options_free(&o);
	return options_read(&o, argc, argv);
}

/* Reads a command line that is written as one string with blanks. */
static int read_line(const char *line)
{
	static char text[256];
	static char *argv[WORDS_MAX];
	int argc = 0;

	snprintf(text, sizeof(text), "od-runtime %s", line);
	for (char *p = strtok(text, " "); p && argc < WORDS_MAX; p = strtok(NULL, " "))
		argv[argc++] = strcmp(p, "''") == 0 ? p + 2 : p;
	return read_arguments(argc, argv);
}

/* The option of the command that has the name; *values: the struct of its value. */
static const struct option *find_option(const char *name, char **values)
{
	const struct option *opt;
	struct option_walk w;

	option_walk_begin(&w, o.command);
	while ((opt = option_walk_next(&w)))
		if (strcmp(opt->name, name) == 0)
			break;
	*values = opt ? option_walk_values(&w, &o) : NULL;
	return opt;
}

/* The value of an option of the command; NULL if the command has no such option. */
static const void *value_of(const char *name)
{
	char *values;
	const struct option *opt = find_option(name, &values);

	return opt ? values + opt->at : NULL;
}

static bool flag(const char *name)
{
	const bool *value = value_of(name);

	return value && *value;
}

static const char *text(const char *name)
{
	const char *const *value = value_of(name);

	return value ? *value : "(no such option)";
}

static uint64_t number(const char *name)
{
	const uint64_t *value = value_of(name);

	return value ? *value : UINT64_MAX - 1;
}

static unsigned choice(const char *name)
{
	const unsigned *value = value_of(name);

	return value ? *value : UINT32_MAX;
}

/* Whether an option was given for which the struct has a bool. */
static bool is_given(const char *name)
{
	char *values;
	const struct option *opt = find_option(name, &values);

	return opt && opt->seen && *(bool *)(values + opt->seen);
}

static void test_good(void)
{
	is_int(read_line("build debian:12"), 0, "build");
	is_str(o.command->name, "build", "the command");
	is_str(o.operand[0], "debian:12", "its operand");
	is_int(read_line("start box"), 0, "start");
	is_int(number("timeout-start"), START_SECONDS, "a default");
	is_int(read_line("prune"), 0, "prune");
	is_int(number("keep"), INJECT_KEEP, "another default");
	is_int(read_line("--json build --host=unix:///x img --force"), 0, "anywhere");
	ok(o.json && flag("force"), "flags");
	is_str(o.host, "unix:///x", "a value behind =");
	is_int(read_line("run --name nn --port 80 --rm i -- ls -l --json"), 0, "run");
	is_str(text("name"), "nn", "a value in the next word");
	is_int(number("port"), 80, "a number");
	ok(flag("rm") && !o.json, "what stands behind -- is not ours");
	is_int(o.argc, 3, "all of it");
	is_str(o.argv[1], "-l", "as it is");
	is_int(read_line("run i --user-id 0"), 0, "zero");
	ok(is_given("user-id") && number("user-id") == 0, "is not absent");
	is_int(read_line("rm -f box"), 0, "-f of rm");
	ok(flag("force") && !flag("follow"), "is force");
	is_int(read_line("logs -f box"), 0, "-f of logs");
	ok(flag("follow") && !flag("force"), "is follow");
	is_int(read_line("action box -"), 0, "the standard input");
	is_str(o.operand[1], "-", "is an operand");
	is_int(read_line("help"), 0, "help alone");
	is_int(read_line("help run"), 0, "help for one");
	is_int(read_line("--version"), 0, "version");
	is_int(read_line("run --help"), 0, "help without operands");
	is_int(read_line("ps"), 0, "no operand");
	is_int(read_line("exec box --timeout 5 -- x"), 0, "exec");
	is_int(read_line("restart aa bb -t 3"), 0, "restart");
	ok(o.operand_n == 2 && number("time") == 3, "of two");
	is_int(read_line("inspect aa bb"), 0, "inspect");
	is_int(read_line("env aa --json"), 0, "env");
	is_int(read_line("sessions aa --kill bb"), 0, "sessions");
	is_str(text("kill"), "bb", "--kill");
	is_int(read_line("start --time 3 aa"), FAIL_USAGE, "start has no --time");
	is_int(read_line("env aa bb"), FAIL_USAGE, "env of two");
}

/* The n-th value of a list, or "(none)". */
static const char *nth(const char *name, unsigned n)
{
	const struct option_values *list = value_of(name);
	const struct option_value *v = list ? list->first : NULL;

	while (v && n--)
		v = v->next;
	return v ? v->text : "(none)";
}

static void test_kinds(void)
{
	is_int(read_line("run -e A=1 i --env B=2 -v/a:/b -eC -p 80"), 0, "lists");
	is_str(nth("env", 0), "A=1", "the first");
	is_str(nth("env", 1), "B=2", "by its other name");
	is_str(nth("env", 2), "C", "joined to its letter");
	is_str(nth("env", 3), "(none)", "and no more");
	is_str(nth("volume", 0), "/a:/b", "another list");
	is_str(nth("mount", 0), "(none)", "an empty one");
	is_int(read_line("run i"), 0, "run without --pull");
	is_int(choice("pull"), PULL_MISSING, "--pull is missing by default");
	is_int(read_line("build i"), 0, "build without --pull");
	is_int(choice("pull"), PULL_MISSING, "the default is the same for build");
	is_int(read_line("run --pull i"), 0, "--pull alone");
	is_int(choice("pull"), PULL_MISSING, "--pull alone is missing");
	is_str(o.operand[0], "i", "--pull takes no word that is not a policy");
	is_int(read_line("run i --pull"), 0, "--pull as the last word");
	is_int(choice("pull"), PULL_MISSING, "--pull as the last word is missing");
	is_int(read_line("run --pull=always i"), 0, "--pull=POLICY");
	is_int(choice("pull"), PULL_ALWAYS, "--pull=always is always");
	is_int(read_line("run --pull always i"), 0, "--pull POLICY");
	is_int(choice("pull"), PULL_ALWAYS, "--pull always is always");
	is_str(o.operand[0], "i", "the image follows the policy");
	is_int(read_line("run --pull never i"), 0, "--pull never");
	is_int(choice("pull"), PULL_NEVER, "--pull never is never");
	is_int(read_line("run i -m 512m --cpus 1.5 --pids 7 --shm-size 1g"), 0, "sizes");
	ok(number("memory") == 512 << 20 && number("cpus") == 1500000000 &&
			number("pids") == 7 && number("shm-size") == 1 << 30,
		"are numbers");
	is_int(read_line("exec box --timeout 1h30m -- x"), 0, "a duration");
	is_int(number("timeout"), 5400, "a duration is stored in seconds");
	is_int(read_line("run i --timeout-start 2m --stop-timeout -1"), 0, "durations");
	ok(number("timeout-start") == 120 && is_given("stop-timeout") &&
			number("stop-timeout") == UINT64_MAX,
		"-1 is no limit");
	is_int(read_line("run i --memory-swap -1 -c 512 -P --net host"), 0, "limits");
	ok(number("memory-swap") == UINT64_MAX && number("cpu-shares") == 512 &&
			flag("publish-all"),
		"--memory-swap, -c, -P");
	is_str(text("network"), "host", "--net is --network");
	is_int(read_line("run i -w /a --workdir /b"), 0, "two names for one");
	is_str(text("working-dir"), "/b", "the last one counts");
	is_int(read_line("rm aa bb cc"), 0, "several sandboxes");
	is_int(o.operand_n, 3, "all of them");
	is_int(read_line("cp aa:/x ."), 0, "cp from");
	is_int(read_line("cp ./a:b aa:/x"), 0, "a colon behind a slash");
	is_int(read_line("cp - aa:/x"), 0, "cp of stdin");
	is_int(read_line("ls aa"), 0, "ls");
	is_int(read_line("ls aa /x"), 0, "ls of a folder");
	is_int(read_line("ls aa:/x"), 0, "ls of a folder as in cp");
}

/* The words of a command begin behind the operands. */
static void test_words(void)
{
	static const struct {
		const char *line;
		size_t n;
		const char *first, *last;
	} rows[] = {
		{"exec -- box ls -l", 2, "ls", "-l"},
		{"exec box ls -l --json", 3, "ls", "--json"},
		{"exec box -- ls -l", 2, "ls", "-l"},
		{"exec box ls -- -l", 3, "ls", "-l"},
		{"exec box -i ls -i", 2, "ls", "-i"},
		{"exec --session ss box -- x", 1, "x", "x"},
		{"exec box -", 1, "-", "-"},
		{"run -it i bash -l", 2, "bash", "-l"},
		{"run i --name nn -- c", 1, "c", "c"},
		{"run --rm i c --rm", 2, "c", "--rm"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		is_int(read_line(rows[i].line), 0, "%s", rows[i].line);
		is_int(o.argc, rows[i].n, "the number of its words");
		is_str(o.argv[0], rows[i].first, "the first of them");
		is_str(o.argv[o.argc - 1], rows[i].last, "the last of them");
	}
}

static void test_letters(void)
{
	is_int(read_line("exec -it -u me box sh"), 0, "-it");
	ok(flag("interactive") && flag("tty"), "-it sets both flags");
	is_int(read_line("exec -ti box sh"), 0, "-ti");
	ok(flag("interactive") && flag("tty"), "-ti sets both flags");
	is_int(read_line("exec -itw/work box sh"), 0, "a value behind flags");
	is_str(text("workdir"), "/work", "its value is the rest of the word");
	is_int(read_line("exec -iu me box sh"), 0, "a value in the next word");
	is_str(text("user"), "me", "the value is the next word");
	ok(!flag("tty"), "other flags are not set");
	is_int(read_line("exec -e=A=1 box sh"), 0, "a value behind =");
	is_str(nth("env", 0), "A=1", "the = is no part of the value");
}

static void test_many(void)
{
	static char *argv[2 * OPTION_LIST_MAX + 8];
	static char env[] = "-eA=1", run[] = "run", image[] = "i", rm[] = "rm",
		    box[] = "box";
	int argc = 1;

	argv[0] = run;
	argv[argc++] = run;
	argv[argc++] = image;
	for (int i = 0; i < OPTION_LIST_MAX; i++)
		argv[argc++] = env;
	is_int(read_arguments(argc, argv), 0, "as many as there is room for");
	argv[argc++] = env;
	is_int(read_arguments(argc, argv), FAIL_USAGE, "one more");
	argc = 1;
	argv[argc++] = rm;
	for (int i = 0; i < OPTION_OPERANDS_MAX; i++)
		argv[argc++] = box;
	is_int(read_arguments(argc, argv), 0, "as many sandboxes as there is room for");
	argv[argc++] = box;
	is_int(read_arguments(argc, argv), FAIL_USAGE, "one more");
}

static void test_bad(void)
{
	static const char *const rows[] = {
		"",
		"nonsense",
		"build",
		"build a b",
		"build a -- x",
		"exec box",
		"exec box --",
		"exec -- ls",
		"exec -ix box ls",
		"exec -iw",
		"run",
		"ps x",
		"run i --port 0",
		"run i --port 65536",
		"run i --port x",
		"run i --port -1",
		"run i --port",
		"run i --port=",
		"run i --name ''",
		"build i --rm",
		"build i --json=1",
		"build i --unknown",
		"build i -x",
		"build i -",
		"rm",
		"rm -fx box",
		"rm -t 5 box",
		"action box",
		"stop box --time 99999",
		"exec box --timeout 0 -- x",
		"exec box --timeout 1.5 -- x",
		"--json",
		"--",
		"run i --user-id 4294967295",
		"build UPPER:x",
		"build ''",
		"dockerfile a\nRUN",
		"run -x",
		"run i --name ../x",
		"run i --name x",
		"exec ../x -- ls",
		"action a/b -",
		"logs ''",
		"stop a?b",
		"rm .x",
		"rm box .x",
		"run i --pull=maybe",
		"run i --pull=",
		"run i --memory x",
		"run i --memory 0",
		"run i --cpus 0",
		"run i --cpus -1",
		"run i --pids 0",
		"run i -e ''",
		"run i -dx",
		"build i -e A=1",
		"cp a b",
		"cp aa:/x bb:/y",
		"cp aa:/x",
		"cp a?b:/x .",
		"ls",
		"ls box a b",
		"ls box:/a b",
		"ls b?x:/a",
		"ls :/a",
		"pause",
		"shell",
		"shell box -- x",
		"completion",
		"logs box --tail x",
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		is_int(read_line(rows[i]), FAIL_USAGE, "refused: %s", rows[i]);
}

static void test_bad_numbers(void)
{
	static const char *const rows[] = {
		"exec box --timeout 5x -- x",
		"exec box --timeout 1h30 -- x",
		"exec box --timeout 366d -- x",
		"exec box --timeout -1 -- x",
		"run i --timeout-start 0s",
		"stop box --time 2h",
		"run i --stop-timeout -2",
		"run i --memory-swap -2",
		"run i --memory -1",
		"run i --cpu-shares x",
		"run i --privileged=1",
		"build i --privileged",
		"mcp i --restart always",
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		is_int(read_line(rows[i]), FAIL_USAGE, "%s is an error", rows[i]);
}

static void test_help(void)
{
	size_t n = 0;

	for (const struct command *const *c = commands; *c; c++, n++) {
		ok((*c)->purpose && (*c)->usage && (*c)->run, "row %s is whole",
			(*c)->name);
		ok(!(*c)->options == !(*c)->options_size,
			"%s has a struct for its options", (*c)->name);
		for (const struct command *const *d = commands; d != c; d++)
			ok(strcmp((*c)->name, (*d)->name), "and its own");
	}
	ok(n >= 10, "all commands are there");
}

/* Whether the text begins with a lower-case word that may be a verb. */
static bool has_verb(const char *text)
{
	static const char *const others[] = {"a", "all", "an", "as", "each", "how", "if",
		"in", "its", "no", "not", "one", "only", "private", "same", "the", "this",
		"user", "what", "when", "where", "whether", "which", "who", "with"};
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz");

	if (!n || text[n] != ' ')
		return false;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (strlen(others[i]) == n && strncmp(text, others[i], n) == 0)
			return false;
	return true;
}

static void check_row(const struct option *opt, bool is_common, void *values)
{
	ok(has_verb(opt->help), "the help of --%s begins with a verb", opt->name);
	ok(!strstr(opt->help, "default: ") && !strstr(opt->help, "example: ") &&
			opt->help[strlen(opt->help) - 1] != '.',
		"the help of --%s has no default, example or full stop", opt->name);
	ok(opt->group >= OPTION_GROUP_IMAGE && opt->group < OPTION_GROUPS &&
			(opt->group == OPTION_GROUP_COMMON) == is_common,
		"--%s has a group", opt->name);
	ok(opt->value || !opt->example, "--%s has no example without a value", opt->name);
	if (opt->example)
		is_int(options_set_value(&o, values, opt, opt->example), 0,
			"the example of --%s is a value of it", opt->name);
}

/* Reads "COMMAND --help", which makes the struct of the command's options. */
static void test_option_rows(void)
{
	const struct option *opt;
	struct option_walk w;

	for (const struct command *const *c = commands; *c; c++) {
		char words[64];
		bool seen[128] = {false};

		snprintf(words, sizeof(words), "%s --help", (*c)->name);
		is_int(read_line(words), 0, "%s", words);
		option_walk_begin(&w, *c);
		while ((opt = option_walk_next(&w))) {
			check_row(opt, w.is_common, option_walk_values(&w, &o));
			ok(!opt->letter || !seen[(int)opt->letter],
				"the letter of --%s is of no other option of %s",
				opt->name, (*c)->name);
			seen[(int)opt->letter] = true;
		}
	}
}

/*
 * Cuts a command line at blanks, as a shell does, without the words before od-runtime and
 * behind a redirection, a pipe or a parenthesis. The number of words.
 */
static int cut_line(const char *line, char *text, char **argv)
{
	const char *p = strstr(line, "od-runtime ");
	char quote = '\0';
	int n = 0;

	for (bool begun = false; p && *p && n < WORDS_MAX; p++) {
		if (!quote && strchr("<>|&;)", *p))
			break;
		if (quote ? *p == quote : *p == '\'' || *p == '"') {
			quote = quote ? '\0' : *p;
		} else if (!quote && *p == ' ') {
			begun = false;
			*text++ = '\0';
		} else {
			if (!begun)
				argv[n++] = text;
			begun = true;
			*text++ = *p;
		}
	}
	*text = '\0';
	return n;
}

static void test_examples(void)
{
	char buffer[256], *argv[WORDS_MAX];

	is_int(cut_line("eval \"$(od-runtime x 'a b' c)\"", buffer, argv), 4, "words");
	is_str(argv[2], "a b", "a quoted word");
	is_str(argv[3], "c", "a word before a parenthesis");
	for (const struct command *const *p = commands; *p; p++) {
		const struct command *c = *p;

		ok(has_verb(c->purpose), "the help of %s begins with a verb", c->name);
		ok(strlen(c->purpose) < 68, "the help of %s fits into a line", c->name);
		ok(c->examples[0], "%s has an example", c->name);
		for (size_t i = 0; i < COMMAND_EXAMPLES_MAX && c->examples[i]; i++) {
			int n = cut_line(c->examples[i], buffer, argv);

			is_int(read_arguments(n, argv), 0, "%s", c->examples[i]);
			ok(o.command == c && strlen(c->examples[i]) < 78,
				"it is a short example of %s", c->name);
		}
	}
	for (const struct manual_row *row = manual_examples; row->name; row++) {
		int n = cut_line(row->name, buffer, argv);

		is_int(read_arguments(n, argv), 0, "%s", row->name);
	}
}

static const char *find_title(const char *line, enum option_group group)
{
	is_int(read_line(line), 0, "%s", line);
	return manual_group_title(o.command, group);
}

static void test_groups(void)
{
	is_str(find_title("run i", OPTION_GROUP_NETWORK), "Network", "a group of run");
	is_str(find_title("run i", OPTION_GROUP_RESOURCES), "Resources", "another");
	is_str(find_title("run i", OPTION_GROUP_COMMON), "Options of every command",
		"the last group");
	is_str(find_title("logs box", OPTION_GROUP_LIFECYCLE), "Options",
		"the only group of logs");
	ok(!find_title("logs box", OPTION_GROUP_NETWORK), "logs has no other group");
	ok(!find_title("wait box", OPTION_GROUP_LIFECYCLE), "wait has no options");
}

/* The composed text of an option of a command. */
static void check_text(const char *words, const char *name, const char *expected)
{
	struct buf help = BUF_INIT(1024);
	const struct option *opt;
	char *values;

	is_int(read_line(words), 0, "%s", words);
	opt = find_option(name, &values);
	ok(opt, "there is --%s", name);
	if (opt)
		manual_write_help(opt, &help);
	is_str(buf_cstr(&help), expected, "the text of --%s", name);
	buf_free(&help);
}

static void test_texts(void)
{
	check_text("run i", "memory",
		"limit the memory of the sandbox (example: 512m; default: no limit)");
	check_text("run i", "shm-size", "set the size of /dev/shm (example: 1g)");
	check_text("prune", "keep",
		"keep the newest N runtime images of each base image (default: 3)");
	check_text("ps", "version", "print the version");
}

int main(void)
{
	test_good();
	test_kinds();
	test_words();
	test_letters();
	test_many();
	test_bad();
	test_bad_numbers();
	test_help();
	test_option_rows();
	test_examples();
	test_groups();
	test_texts();
	options_free(&o);
	return done_testing();
}
