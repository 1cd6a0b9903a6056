/*
 * Any bytes as a kernel.json, and as the name of a kernel. What is executed is a program
 * by its whole path with all that stands in braces put in; what it inherits are variables
 * of legal names, each once.
 */
#include "kernel/kernelspec.h"

#include "base/env.h"
#include "base/fd.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char top[] = "/tmp/od-fuzz-kernelspec-XXXXXX";
static char path_var[64], file[64];
static int fd = -1;
static const char *const env[] = {path_var, "PATH=/bin", "A=b", "HOME=", NULL};
static const struct kernelspec_places places = {env, "/p"};

static void clean_up(void)
{
	static const char *const names[] = {
		"/kernels/k/kernel.json", "/kernels/k", "/kernels", ""};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(file, sizeof(file), "%s%s", top, names[i]);
		(void)!remove(file);
	}
}

static void set_up(void)
{
	char memory[64];

	if (fd >= 0)
		return;
	fd = fd_create_memory("kernel.json", 0);
	snprintf(memory, sizeof(memory), "/proc/self/fd/%d", fd);
	assert(mkdtemp(top));
	snprintf(path_var, sizeof(path_var), "JUPYTER_PATH=%s", top);
	snprintf(file, sizeof(file), "%s/kernels", top);
	assert(!mkdir(file, 0700));
	snprintf(file, sizeof(file), "%s/kernels/k", top);
	assert(!mkdir(file, 0700));
	snprintf(file, sizeof(file), "%s/kernels/k/kernel.json", top);
	assert(fd >= 0 && !symlink(memory, file));
	atexit(clean_up);
}

static void put(const uint8_t *data, size_t size)
{
	assert(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
}

static void check_argv(const struct kernelspec *k, struct arena *a)
{
	const char *const *argv;
	size_t n = 0;
	int r = kernelspec_argv(k, env, "/c.json", a, &argv);

	if (r) {
		assert(r == -ENOENT || r == -ENOMEM || r == ERR_LIMIT);
		return;
	}
	while (argv[n]) {
		assert(!strstr(argv[n], "{connection_file}"));
		assert(!strstr(argv[n], "{resource_dir}") &&
			!strstr(argv[n], "{prefix}"));
		n++;
	}
	assert(n == json_count(k->argv) && strchr(argv[0], '/'));
}

static void check_env(const struct kernelspec *k, struct arena *a)
{
	const char *const *all;
	struct json_val key, value;
	struct str text;
	int it = 0, r = kernelspec_env(k, env, "JPY=1", a, &all);

	while (json_next(k->env, &it, &key, &value)) {
		assert(!json_str(key, a, &text) && text.n);
		assert(!memchr(text.p, '=', text.n) && !memchr(text.p, '\0', text.n));
		assert(!json_str(value, a, &text));
	}

	if (r) {
		assert(r == -ENOMEM || r == ERR_LIMIT);
		return;
	}
	for (size_t i = 0; all[i]; i++) {
		struct str name = str_make(all[i], strcspn(all[i], "="));

		assert(name.n && all[i][name.n] == '=');
		assert(env_find(all, name) == all[i] + name.n + 1);
	}
	assert(!strcmp(env_find(all, STR("JPY")), "1"));
	if (json_type(k->env) == JSON_ABSENT)
		assert(!strcmp(env_find(all, STR("A")), "b"));
}

/* A name leads nowhere but into a folder of that name. */
static void check_name(struct str name, struct arena *a)
{
	struct kernelspec k;
	const char *why = NULL;
	int r = kernelspec_find(&places, name, a, &k, &why);

	assert(why && (r || str_eq(k.name, name)));
	if (r != -EINVAL)
		assert(name.n && name.p[0] != '.' && !memchr(name.p, '/', name.n) &&
			!memchr(name.p, '\0', name.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	const char *why = NULL;
	struct kernelspec k;
	struct arena a;
	int r;

	set_up();
	put(data, size);
	arena_init(&a, 16 << 20);
	r = kernelspec_find(&places, STR("k"), &a, &k, &why);
	assert(why && r <= 0 && r != -ENOENT && r != -EINVAL);
	if (!r) {
		assert(str_eq(k.name, STR("k")) && k.folder[0] == '/');
		check_argv(&k, &a);
		check_env(&k, &a);
	}
	if (size)
		memcpy(copy, data, size);
	check_name(str_make(copy, size), &a);
	arena_reset(&a);
	free(copy);
	return 0;
}
