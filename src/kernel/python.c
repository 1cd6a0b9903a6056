#include "kernel/python.h"

#include "base/env.h"
#include "base/fd.h"
#include "limits.h"
#include "proc/which.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { ENVIRONMENT_MAX = 65536 };

struct finder {
	struct arena *arena;
	const char **list;
	size_t n;
};

static const char *const usual[] = {
	"/usr/bin/python3",
	"/usr/local/bin/python3",
	"/opt/conda/bin/python",
};

/* Adds the program name in dir; dir is empty if name is a whole path. */
static void python_add_program(struct finder *f, struct str dir, const char *name)
{
	char path[FILE_PATH_MAX];
	int n = snprintf(path, sizeof(path), "%.*s%s", STR_ARG(dir), name);

	if (n <= 0 || (size_t)n >= sizeof(path) || path[0] != '/' ||
		!which_is_program(path) || f->n == PYTHONS_MAX)
		return;
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->list[i], path))
			return;
	f->list[f->n] = arena_cstr(f->arena, str_make(path, (size_t)n));
	f->n += f->list[f->n] != NULL;
}

/* Reads lines NAME=VALUE; the value may be quoted. */
static void python_add_environment(struct finder *f)
{
	static const struct str name = {"OH_INTERPRETER_PATH=", 20};
	char *room = arena_alloc(f->arena, ENVIRONMENT_MAX);
	int fd = fd_open("/etc/environment", O_RDONLY | O_NONBLOCK, 0);
	ssize_t n = fd < 0 || !room ? 0 : read(fd, room, ENVIRONMENT_MAX);
	struct str text = str_make(room, n > 0 ? (size_t)n : 0);

	fd_close(&fd);
	while (text.n) {
		struct str line = str_trim(str_cut(&text, '\n'), " \t\r");

		if (str_starts(line, STR("export ")))
			line = str_skip(line, 7);
		if (str_starts(line, name))
			python_add_program(
				f, str_trim(str_skip(line, name.n), "\"'"), "");
	}
}

static void python_add_path(struct finder *f, struct str path)
{
	static const char *const names[] = {"/python3", "/python"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct str rest = path;

		while (rest.n)
			python_add_program(f, str_cut(&rest, ':'), names[i]);
	}
}

/* Adds the environments of the contract's own images. */
static void python_add_poetry(struct finder *f)
{
	static const char top[] = "/openhands/poetry";
	DIR *d = opendir(top);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		char dir[FILE_PATH_MAX];

		snprintf(dir, sizeof(dir), "%s/%s", top, e->d_name);
		if (e->d_name[0] != '.')
			python_add_program(f, str_c(dir), "/bin/python");
	}
	if (d)
		closedir(d);
}

size_t python_list(const char *const *env, struct arena *a, const char **list)
{
	struct finder f = {.arena = a, .list = list};

	python_add_program(&f, str_c(env_value(env, "OD_PYTHON")), "");
	python_add_program(&f, str_c(env_value(env, "OH_INTERPRETER_PATH")), "");
	python_add_environment(&f);
	python_add_program(&f, str_c(env_value(env, "VIRTUAL_ENV")), "/bin/python");
	python_add_program(&f, str_c(env_value(env, "CONDA_PREFIX")), "/bin/python");
	python_add_path(&f, str_c(env_value(env, "PATH")));
	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		python_add_program(&f, STR(""), usual[i]);
	python_add_poetry(&f);
	python_add_program(&f, STR(""), "/.od/plugins/python/bin/python3");
	return f.n;
}
