/*
 * "browser" of the folder that tools/plugin-browser makes: starts the browser there with
 * the loader, the libraries and the fonts there. To the browser its own program is the
 * loader, so that it is told what its processes are made of: this again.
 */
#define HOME "/.od/plugins/browser"
#define SELF "/browser"

#include "plugin-start.h"

enum { ENV_MAX = 1 << 14 };

/* Fonts of ours, whatever the image has; libraries of ours alone. */
static void set_env(const char *const *env, const char **next, const char *fonts)
{
	const char **end = next + ENV_MAX - 2;

	*next++ = fonts;
	for (; *env && next < end; env++)
		if (!begins_with(*env, "FONTCONFIG_") && !begins_with(*env, "LD_"))
			*next++ = *env;
	*next = 0;
}

void start(unsigned long *stack)
{
	static struct path home, program, place, fonts, self;
	static const char *args[ARGS_MAX], *env[ENV_MAX];
	const char *folder = find_folder(&home);
	const char **next = put_loader(args, folder);

	*next++ = join(&program, folder, "/lib/chromium-headless-shell");
	join(&place, folder, SELF);
	*next++ = join(&self, "--browser-subprocess-path=", place.text);
	join(&place, folder, "/share/fonts.conf");
	set_env((const char *const *)(stack + stack[0] + 2), env,
		join(&fonts, "FONTCONFIG_FILE=", place.text));
	go(stack, args, next, env, "browser: its loader cannot be started\n");
}
