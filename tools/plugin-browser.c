/*
 * "browser" of the folder that tools/plugin-browser makes: starts the browser there with
 * the loader, the libraries and the fonts there. It is a program, as an image may have
 * no shell for a script, and has no C library, so that any compiler will do. To the
 * browser its own program is the loader, so that it is told what its processes are made
 * of: this again.
 */
#include <asm/unistd.h>

#define HOME "/.od/plugins/browser" /* where /proc does not tell */
#define SELF "/browser"

enum {
	PATH_SIZE = 4096,
	NAME_SIZE = 32,     /* of what is in the folder */
	ARGS_MAX = 1 << 18, /* no more fit into what the kernel lets pass */
	ENV_MAX = 1 << 14,
	NOT_STARTED = 126,
};

struct path {
	char text[PATH_SIZE + NAME_SIZE];
};

void start(unsigned long *stack) __attribute__((noreturn, used));

__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call start\n");

static long call(long number, long a, const void *b, const void *c)
{
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return r;
}

static unsigned long length(const char *s)
{
	unsigned long n = 0;

	while (s[n])
		n++;
	return n;
}

static const char *join(struct path *out, const char *folder, const char *name)
{
	char *p = out->text;

	while (*folder)
		*p++ = *folder++;
	while (*name)
		*p++ = *name++;
	*p = '\0';
	return out->text;
}

/* This program is in it. */
static const char *find_folder(struct path *out)
{
	char *p = out->text;
	long n = call(__NR_readlink, (long)"/proc/self/exe", p, (void *)PATH_SIZE);
	long end = n - (long)length(SELF);

	if (n >= PATH_SIZE || end <= 0)
		return HOME;
	p[n] = '\0';
	for (long i = end; i < n; i++)
		if (p[i] != SELF[i - end])
			return HOME;
	p[end] = '\0';
	return p;
}

static int is_variable(const char *s, const char *name)
{
	while (*name && *s == *name) {
		s++;
		name++;
	}
	return !*name;
}

/* Fonts of ours, whatever the image has; libraries of ours alone. */
static void set_env(const char *const *env, const char **next, const char *fonts)
{
	const char **end = next + ENV_MAX - 2;

	*next++ = fonts;
	for (; *env && next < end; env++)
		if (!is_variable(*env, "FONTCONFIG_") && !is_variable(*env, "LD_"))
			*next++ = *env;
	*next = 0;
}

void start(unsigned long *stack)
{
	static struct path home, loader, libraries, program, fonts, self;
	static const char *args[ARGS_MAX], *env[ENV_MAX];
	static const char words[] = "browser: its loader cannot be started\n";
	const char *const *argv = (const char *const *)(stack + 1);
	const char *folder = find_folder(&home);
	const char **next = args;
	static struct path place;

	*next++ = join(&loader, folder, "/lib/ld-linux-x86-64.so.2");
	*next++ = "--inhibit-cache";
	*next++ = "--library-path";
	*next++ = join(&libraries, folder, "/lib");
	*next++ = join(&program, folder, "/lib/chromium-headless-shell");
	join(&place, folder, SELF);
	*next++ = join(&self, "--browser-subprocess-path=", place.text);
	for (unsigned long i = 1; i < stack[0] && next < args + ARGS_MAX - 1; i++)
		*next++ = argv[i];
	join(&place, folder, "/share/fonts.conf");
	set_env(argv + stack[0] + 1, env, join(&fonts, "FONTCONFIG_FILE=", place.text));
	call(__NR_execve, (long)loader.text, args, env);
	call(__NR_write, 2, words, (void *)(sizeof(words) - 1));
	for (;;)
		call(__NR_exit_group, NOT_STARTED, 0, 0);
}
