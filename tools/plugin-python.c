/*
 * bin/python3 of the folder that tools/plugin-python makes: starts the Python there
 * with the loader and the libraries there. No variable tells Python where it is: what a
 * cell starts would inherit it.
 */
#define HOME "/.od/plugins/python"
#define SELF "/bin/python3"

#include "plugin-start.h"

#include <linux/auxvec.h>

static int has_slash(const char *s)
{
	while (*s && *s != '/')
		s++;
	return *s;
}

/*
 * What the image says to its own Python and to its own loader is not for ours, and what
 * ours starts shall have it nevertheless: sitecustomize.py takes the names back.
 */
static void hide(char **env)
{
	static const char *const names[] = {
		"PYTHONHOME=", "PYTHONPATH=", "LD_PRELOAD=", "LD_AUDIT="};

	for (; *env; env++)
		for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (begins_with(*env, names[i]))
				**env |= ' '; /* a small letter */
}

/*
 * The path by which Python was called, which is how it finds a venv: argv[0], unless
 * that is a bare name. The kernel knows the path then; behind #! it does not.
 */
static const char *called(const char *const *argv, const char *const *env)
{
	const unsigned long *aux;

	if (argv[0] && has_slash(argv[0]))
		return argv[0];
	while (*env)
		env++;
	for (aux = (const unsigned long *)(env + 1); aux[0] != AT_NULL; aux += 2)
		if (aux[0] == AT_EXECFN && has_slash((const char *)aux[1]))
			return (const char *)aux[1];
	return 0;
}

void start(unsigned long *stack)
{
	static struct path home, self, program;
	static const char *args[ARGS_MAX];
	const char *const *argv = (const char *const *)(stack + 1);
	const char *const *env = argv + stack[0] + 1;
	const char *folder = find_folder(&home), *name = called(argv, env);
	const char **next = put_loader(args, folder);

	hide((char **)(stack + stack[0] + 2));
	*next++ = "--argv0";
	*next++ = name ? name : join(&self, folder, SELF);
	*next++ = join(&program, folder, "/libexec/python3.11");
	go(stack, args, next, env, "python3: its loader cannot be started\n");
}
