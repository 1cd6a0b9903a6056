/*
 * Kernelspecs: the folders kernels/NAME with a kernel.json, which say how a Jupyter
 * kernel is started. They may be the user's own files, and are believed in nothing.
 */
#ifndef KERNEL_KERNELSPEC_H
#define KERNEL_KERNELSPEC_H

#include "base/json.h"
#include "limits.h"

/* Where they are looked for, and what kernels inherit. */
struct kernelspec_places {
	const char *const *env; /* NULL at the end: JUPYTER_*, HOME, PATH, ... */
	const char *prefix;     /* sys.prefix of a Python, or NULL */
};

struct kernelspec {
	char folder[FILE_PATH_MAX];
	struct str name, display, language;
	const char *prefix;
	bool by_message; /* it is interrupted by a message, not by SIGINT */
	bool by_ipc;     /* it is known to listen on unix sockets */
	struct json_val argv, env;
};

/*
 * Finds and reads the kernelspec: in the folders of JUPYTER_PATH, JUPYTER_DATA_DIR or
 * HOME/.local/share/jupyter, PREFIX/share/jupyter, and the system's two. The first
 * folder that has the name counts. -EINVAL for what cannot be a name; -ENOENT; -errno;
 * errors of json_parse, ERR_TYPE. *why is a static string for all of them. What is
 * read lives in the arena. May wait for a slow disk.
 */
int kernelspec_find(const struct kernelspec_places *p, struct str name, struct arena *a,
	struct kernelspec *out, const char **why) MUST_USE;

/*
 * Jupyter's own kernel of the Python whose sys.prefix that is, which may have it without
 * a kernelspec. prefix is borrowed. -ENOMEM.
 */
int kernelspec_python(
	const char *prefix, struct arena *a, struct kernelspec *out) MUST_USE;

/*
 * What is executed, NULL at the end, with the connection file's path and the others put
 * in; argv[0] is absolute, looked for on the PATH of env where it was none: -ENOENT
 * if it is nowhere. -ENOMEM.
 */
int kernelspec_argv(const struct kernelspec *k, const char *const *env,
	const char *connection_file, struct arena *a, const char *const **out) MUST_USE;

/*
 * env with what the kernelspec adds, ${NAME} in its values being what env has, and with
 * one more variable, NAME=VALUE, or NULL. -ENOMEM.
 */
int kernelspec_env(const struct kernelspec *k, const char *const *env, const char *more,
	struct arena *a, const char *const **out) MUST_USE;

#endif
