#include "inject/names/state.h"

#include "inject/console/out.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/test_state.XXXXXX";

static struct state sample(void)
{
	struct state s = {.name = "od-1", .id = "c0ffee"};

	memset(s.key, 'a', 2 * STATE_KEY_LEN);
	return s;
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_mode & 07777;
}

static void test_names(void)
{
	static const char *const good[] = {"ab", "A1", "od-12345678", "a.b_c-d"};
	static const char *const bad[] = {"", "a", ".a", "-a", "_a", "a/b", "../x", "a b",
		"a\nb", "a:b", "\xc3\xa4x"};
	char longest[STATE_NAME_MAX + 1];

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		ok(state_is_name(str_c(good[i])), "name %s", good[i]);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(!state_is_name(str_c(bad[i])), "no name %zu", i);
	memset(longest, 'a', sizeof(longest));
	ok(state_is_name(str_make(longest, STATE_NAME_MAX)), "128 bytes");
	ok(!state_is_name(str_make(longest, STATE_NAME_MAX + 1)), "129 bytes");
	ok(!state_is_name(str_make("a\0b", 3)), "NUL");
}

static void test_round(void)
{
	struct state s = sample(), got = {0};
	char path[256], folder[200];

	snprintf(folder, sizeof(folder), "%s/a/b/sandboxes", top);
	snprintf(path, sizeof(path), "%s/a/b", top);
	setenv("OD_STATE_DIR", path, 1);
	is_int(state_load("od-1", &got), -ENOENT, "no folder, no state");
	is_int(access(path, F_OK), -1, "looking makes no folder");
	is_int(state_save(&s), 0, "saved");
	is_int(mode_of(folder), 0700, "the folder is ours alone");
	snprintf(path, sizeof(path), "%s/od-1.json", folder);
	is_int(mode_of(path), 0600, "so is the file");
	is_int(state_load("od-1", &got), 0, "loaded");
	is_str(got.name, s.name, "name");
	is_str(got.id, s.id, "id");
	is_str(got.key, s.key, "key");
	snprintf(s.id, sizeof(s.id), "%s", "beef");
	is_int(state_save(&s), 0, "saved again");
	is_int(state_load("od-1", &got), 0, "loaded again");
	is_str(got.id, "beef", "the new id");
	is_int(state_load("od-2", &got), -ENOENT, "another name");
	state_wipe_key(&got);
	is_str(got.key, "", "the key is forgotten");
	state_remove("od-1");
	is_int(state_load("od-1", &got), -ENOENT, "removed");
	state_remove("od-1");
	is_int(rmdir(folder), 0, "nothing is left in the folder");
}

static void test_broken(void)
{
	static const char *const texts[] = {"", "{}", "[]", "{\"id\":\"x\"}",
		"{\"id\":\"x\",\"key\":\"abc\"}", "{\"id\":\"x\",\"key\":5}",
		"{\"key\":\"zz\"}"};
	struct state s = sample(), got = {.id = "untouched"};
	char path[256];

	is_int(state_save(&s), 0, "saved");
	snprintf(path, sizeof(path), "%s/a/b/sandboxes/od-1.json", top);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		write_text(path, texts[i]);
		is_int(state_load("od-1", &got), FAIL_ENVIRONMENT, "broken %zu", i);
		is_str(got.id, "untouched", "leaves the result alone");
	}
	unlink(path);
	is_int(symlink("/etc/hostname", path), 0, "a link in its place");
	is_int(state_load("od-1", &got), FAIL_ENVIRONMENT, "is not followed");
	is_int(state_save(&s), 0, "but replaced");
	is_int(state_load("od-1", &got), 0, "by a file");
}

static void test_folder(void)
{
	struct state s = sample(), got;
	char path[256];

	snprintf(path, sizeof(path), "%s/a/b/sandboxes", top);
	chmod(path, 0755);
	is_int(state_save(&s), FAIL_ENVIRONMENT, "a folder open to others");
	is_int(state_load("od-1", &got), FAIL_ENVIRONMENT, "not even to read");
	chmod(path, 0700);
	setenv("OD_STATE_DIR", "/proc/nowhere", 1);
	is_int(state_save(&s), FAIL_ENVIRONMENT, "a place that cannot be made");
	setenv("OD_STATE_DIR", "relative", 1);
	setenv("XDG_STATE_HOME", top, 1);
	is_int(state_save(&s), 0, "relative paths do not count");
	snprintf(path, sizeof(path), "%s/od-runtime/sandboxes/od-1.json", top);
	is_int(mode_of(path), 0600, "XDG_STATE_HOME");
	unsetenv("XDG_STATE_HOME");
	setenv("HOME", top, 1);
	is_int(state_save(&s), 0, "HOME");
	snprintf(path, sizeof(path), "%s/.local/state/od-runtime/sandboxes/od-1.json",
		top);
	is_int(mode_of(path), 0600, "below .local/state");
	unsetenv("HOME");
	is_int(state_save(&s), FAIL_ENVIRONMENT, "no place at all");
}

struct seen {
	unsigned n;
	char names[64];
};

static int see(void *arg, const struct state *s)
{
	struct seen *seen = arg;

	snprintf(seen->names + strlen(seen->names),
		sizeof(seen->names) - strlen(seen->names), "%s ", s->name);
	return ++seen->n == 2 ? 7 : 0;
}

static void test_quiet(void)
{
	struct state s = sample(), got = {0};
	struct seen seen = {0};
	char path[256], file[300];

	setenv("OD_STATE_DIR", "/proc/nowhere", 1);
	ok(!state_find(STR("od-1"), STR("c0ffee"), &got), "no folder has no state");
	is_int(state_each(see, &seen), 0, "no folder is an empty one");
	snprintf(path, sizeof(path), "%s/quiet", top);
	setenv("OD_STATE_DIR", path, 1);
	is_int(state_save(&s), 0, "saved");
	ok(state_find(STR("od-1"), STR("c0ffee"), &got), "a state of the container");
	is_str(got.key, s.key, "with the key");
	ok(!state_find(STR("od-1"), STR("beef"), &got), "another container has none");
	ok(!state_find(STR("../od-1"), STR("c0ffee"), &got), "nor has what is no name");
	is_int(state_path("od-1", file, sizeof(file)), 0, "its path");
	is_int(access(file, F_OK), 0, "is that of a file");
	is_int(state_path("od-1", file, 8), -ENAMETOOLONG, "a path that does not fit");
	snprintf(file, sizeof(file), "%s/sandboxes/broken.json", path);
	write_text(file, "{");
	snprintf(file, sizeof(file), "%s/sandboxes/other.txt", path);
	write_text(file, "{}");
	is_int(state_each(see, &seen), 0, "all of them");
	is_str(seen.names, "od-1 ", "but those that cannot be read");
	snprintf(s.name, sizeof(s.name), "od-2");
	is_int(state_save(&s), 0, "a second one");
	is_int(state_each(see, &seen), 7, "up to a result that is not 0");
	state_wipe_key(&got);
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	test_names();
	test_round();
	test_broken();
	test_folder();
	test_quiet();
	nftw(top, drop, 8, FTW_DEPTH | FTW_PHYS);
	return done_testing();
}
