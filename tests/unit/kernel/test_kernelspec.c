#include "kernel/kernelspec.h"

#include "base/env.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/od-kernelspec-XXXXXX";
static char path_var[128], data_var[128], home_var[128], bin_var[128];
static const char *env[] = {path_var, data_var, home_var, bin_var, "LC_ALL=C", NULL};
static struct arena arena;

/* TOP/FOLDER/kernels/NAME/kernel.json with that text. */
static void put(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s%s%s%s", top, folder,
			i > 0 ? "/kernels" : "", i > 1 ? "/" : "", i > 1 ? name : "");
		mkdir(path, 0755);
	}
	snprintf(path, sizeof(path), "%s/%s/kernels/%s/kernel.json", top, folder, name);
	f = fopen(path, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static int find(const char *name, struct kernelspec *k, const char **why)
{
	struct kernelspec_places p = {env, NULL};

	arena_rewind(&arena);
	*why = "";
	return kernelspec_find(&p, str_c(name), &arena, k, why);
}

static void test_places(void)
{
	struct kernelspec_places p = {env, top};
	struct kernelspec k;
	char want[256], folder[256];
	const char *why;

	put("path1", "both", "{\"argv\":[\"/x\"],\"language\":\"first\"}");
	put("path2", "both", "{\"argv\":[\"/x\"],\"language\":\"second\"}");
	put("path2", "late", "{\"argv\":[\"/x\"],\"language\":\"Python\"}");
	put("data", "mine", "{\"argv\":[\"/x\"],\"interrupt_mode\":\"message\"}");
	snprintf(folder, sizeof(folder), "%s/share", top);
	mkdir(folder, 0755);
	put("share/jupyter", "prefixed", "{\"argv\":[\"/x\"]}");
	is_int(find("both", &k, &why), 0, "in two folders");
	is_view(k.language, "first", "the first counts");
	ok(!k.by_ipc && !k.by_message, "an unknown language: TCP and signals");
	is_int(find("late", &k, &why), 0, "in the second");
	ok(k.by_ipc, "Python listens on unix sockets");
	is_int(find("mine", &k, &why), 0, "in the data folder");
	ok(k.by_message, "it is interrupted by messages");
	snprintf(want, sizeof(want), "%s/data/kernels/mine", top);
	is_str(k.folder, want, "its folder");
	is_view(k.name, "mine", "its name");
	is_int(find("prefixed", &k, &why), -ENOENT, "without its prefix");
	is_str(why, "there is no kernel of that name", "and why");
	is_int(kernelspec_find(&p, STR("prefixed"), &arena, &k, &why), 0, "with it");
}

static void test_names(void)
{
	static const char *const bad[] = {"", ".", "..", "../mine", "a/b", "a b",
		".hidden",
		"12345678901234567890123456789012345678901234567890123456789012345"};
	struct kernelspec k;
	const char *why;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		is_int(find(bad[i], &k, &why), -EINVAL, "the name '%s'", bad[i]);
}

static void test_refused(void)
{
	static const struct {
		const char *text;
		int want;
	} cases[] = {
		{"", ERR_SYNTAX},
		{"{", ERR_SYNTAX},
		{"[]", ERR_TYPE},
		{"{}", ERR_TYPE},
		{"{\"argv\":[]}", ERR_TYPE},
		{"{\"argv\":{\"a\":\"b\"}}", ERR_TYPE},
		{"{\"argv\":[1]}", ERR_TYPE},
		{"{\"argv\":[\"a\\u0000b\"]}", ERR_TYPE},
		{"{\"argv\":[\"a\"],\"env\":[]}", ERR_TYPE},
		{"{\"argv\":[\"a\"],\"env\":{\"a\":1}}", ERR_TYPE},
		{"{\"argv\":[\"a\"],\"env\":{\"a=b\":\"1\"}}", ERR_TYPE},
		{"{\"argv\":[\"a\"],\"env\":{\"\":\"1\"}}", ERR_TYPE},
		{"{\"argv\":[\"a\"],\"language\":1}", ERR_TYPE},
		{"{\"argv\":[\"a\"],\"interrupt_mode\":[]}", ERR_TYPE},
	};
	struct kernelspec k;
	const char *why;
	char path[256];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		put("data", "bad", cases[i].text);
		is_int(find("bad", &k, &why), cases[i].want, "kernel.json '%s'",
			cases[i].text);
		ok(*why, "with a reason");
	}
	snprintf(path, sizeof(path), "%s/data/kernels/bad/kernel.json", top);
	unlink(path);
	is_int(mkfifo(path, 0600), 0, "a pipe in its place");
	is_int(find("bad", &k, &why), -ENOENT, "is not waited for");
}

static void test_argv(void)
{
	const char *const *argv = NULL;
	struct kernelspec k;
	char want[256];
	const char *why;

	put("data", "args",
		"{\"argv\":[\"tool\",\"-f={connection_file}\",\"{resource_dir}/x{\","
		"\"{other}{prefix}\"]}");
	is_int(find("args", &k, &why), 0, "a kernelspec");
	is_int(kernelspec_argv(&k, env, "/c.json", &arena, &argv), -ENOENT,
		"a program that is nowhere");
	snprintf(want, sizeof(want), "%s/bin", top);
	mkdir(want, 0755);
	snprintf(want, sizeof(want), "%s/bin/tool", top);
	is_int(symlink("/bin/true", want), 0, "and now in the second folder of PATH");
	if (!is_int(kernelspec_argv(&k, env, "/c.json", &arena, &argv), 0, "argv"))
		return;
	is_str(argv[0], want, "the program");
	is_str(argv[1], "-f=/c.json", "inside an argument");
	snprintf(want, sizeof(want), "%s/data/kernels/args/x{", top);
	is_str(argv[2], want, "the folder, and a brace alone");
	is_str(argv[3], "{other}", "an unknown one stays; no prefix");
	ok(!argv[4], "and the end");
}

static void test_env(void)
{
	const char *const *made = NULL;
	struct kernelspec k;
	const char *why;

	put("data", "vars",
		"{\"argv\":[\"/x\"],\"env\":{\"NEW\":\"a${LC_ALL}b${NONE}${\","
		"\"LC_ALL\":\"de\"}}");
	is_int(find("vars", &k, &why), 0, "a kernelspec");
	if (!is_int(kernelspec_env(&k, env, NULL, &arena, &made), 0, "its environment"))
		return;
	is_str(made[0], path_var, "what was there");
	is_str(made[4], "LC_ALL=de", "what is replaced");
	is_str(made[5], "NEW=aCb${", "what is new, with what there was");
	ok(!made[6], "and the end");
	is_str(env_find(made, STR("LC_ALL")), "de", "looked up");
	ok(!env_find(made, STR("LC")), "no part of a name");
	is_int(kernelspec_env(&k, env, "MORE=1", &arena, &made), 0, "with one more");
	is_str(made[6], "MORE=1", "behind all");
	ok(!made[7], "and the end");
	is_int(kernelspec_env(&k, env, "LC_ALL=1", &arena, &made), 0, "with one known");
	is_str(made[4], "LC_ALL=1", "in its place");
	ok(!made[6], "alone");
}

static void test_python(void)
{
	const char *const *argv = NULL;
	struct kernelspec k;

	if (!is_int(kernelspec_python("/opt/py", &arena, &k), 0, "a Python without one"))
		return;
	is_int(kernelspec_argv(&k, env, "/c", &arena, &argv), 0, "argv");
	is_str(argv[0], "/opt/py/bin/python3", "its own program");
	is_str(argv[4], "/c", "and the connection file");
	ok(k.by_ipc && !k.by_message, "by unix sockets, interrupted by signals");
}

int main(void)
{
	char command[64];

	if (!mkdtemp(top))
		return 1;
	snprintf(path_var, sizeof(path_var), "JUPYTER_PATH=relative:%s/path1:%s/path2",
		top, top);
	snprintf(data_var, sizeof(data_var), "JUPYTER_DATA_DIR=%s/data", top);
	snprintf(home_var, sizeof(home_var), "HOME=%s", top);
	snprintf(bin_var, sizeof(bin_var), "PATH=::%s/none:%s/bin", top, top);
	arena_init(&arena, 1 << 20);
	test_places();
	test_names();
	test_refused();
	test_argv();
	test_env();
	test_python();
	arena_reset(&arena);
	snprintf(command, sizeof(command), "rm -r %s", top);
	return done_testing() | (system(command) != 0);
}
