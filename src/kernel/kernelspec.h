/*
 * Kernelspecs: the folders kernels/NAME with a kernel.json, which describe how to start
 * a Jupyter kernel. They may be the user's own files, and their content is not trusted.
 */
#ifndef KERNEL_KERNELSPEC_H
#define KERNEL_KERNELSPEC_H

#include "base/json.h"
#include "limits.h"

/* Where kernelspecs are searched, and what kernels inherit. */
struct kernelspec_places {
	const char *const *env; /* NULL at the end: JUPYTER_*, HOME, PATH, ... */
	const char *prefix;     /* sys.prefix of a Python, or NULL */
};

struct kernelspec {
	char folder[FILE_PATH_MAX];
	struct str name, display, language;
	const char *prefix;
	bool by_message; /* interrupted by a message, not by SIGINT */
	bool by_ipc;     /* supports unix sockets */
	struct json_val argv, env;
};

/*
 * Finds and reads the kernelspec: in the folders of JUPYTER_PATH, JUPYTER_DATA_DIR or
 * HOME/.local/share/jupyter, PREFIX/share/jupyter, and the system's two. The first
 * folder that has the name is used. -EINVAL for an invalid name; -ENOENT; -errno;
 * errors of json_parse, ERR_TYPE. *why is a static string for all of them. The result
 * lives in the arena. May wait for a slow disk.
 */
int kernelspec_find(const struct kernelspec_places *p, struct str name, struct arena *a,
	struct kernelspec *out, const char **why) MUST_USE;

/*
 * The kernelspec of ipykernel for the Python with this sys.prefix, which may be
 * installed without a kernelspec. prefix is borrowed. -ENOMEM.
 */
int kernelspec_python(
	const char *prefix, struct arena *a, struct kernelspec *out) MUST_USE;

/*
 * The command line, NULL at the end, with the connection file's path and the other
 * placeholders replaced. argv[0] is unchanged if it has a slash; otherwise it is
 * searched on the PATH of env and absolute: -ENOENT if it is not found. -ENOMEM.
 */
int kernelspec_argv(const struct kernelspec *k, const char *const *env,
	const char *connection_file, struct arena *a, const char *const **out) MUST_USE;

/*
 * env with the variables of the kernelspec added, ${NAME} in their values replaced from
 * env, and with one more variable, NAME=VALUE, or NULL. -ENOMEM.
 */
int kernelspec_env(const struct kernelspec *k, const char *const *env, const char *more,
	struct arena *a, const char *const **out) MUST_USE;

#endif
