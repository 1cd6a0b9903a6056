/*
 * The program at the front of a plugin's folder, as tools/plugin-browser and
 * tools/plugin-python make them: it finds the folder, and becomes another program with
 * the loader and the libraries there. It is a program, as an image may have no shell for
 * a script, and has no C library, so that any compiler will do. Who includes this
 * defines HOME, the folder where /proc does not tell, and SELF, its own path in it, and
 * has start(), which gets the stack as the kernel leaves it.
 */
#ifndef TOOLS_PLUGIN_START_H
#define TOOLS_PLUGIN_START_H

#include <asm/unistd.h>

enum {
	PATH_SIZE = 4096,
	NAME_SIZE = 32,     /* of what is in the folder */
	ARGS_MAX = 1 << 18, /* no more fit into what the kernel lets pass */
	NOT_STARTED = 126,
};

struct path {
	char text[PATH_SIZE + NAME_SIZE];
};

void start(unsigned long *stack) __attribute__((noreturn, used));

#if defined(__x86_64__)
#define LOADER "/lib/ld-linux-x86-64.so.2"

__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call start\n");

static long call(long number, long a, const void *b, const void *c, long d)
{
	register long r10 __asm__("r10") = d;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return r;
}
#elif defined(__aarch64__)
#define LOADER "/lib/ld-linux-aarch64.so.1"

__asm__(".globl _start\n"
	"_start:\n"
	"	mov x29, #0\n"
	"	mov x30, #0\n"
	"	mov x0, sp\n"
	"	bl start\n");

static long call(long number, long a, const void *b, const void *c, long d)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register const void *x1 __asm__("x1") = b;
	register const void *x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3)
			 : "memory");
	return x0;
}
#endif

static unsigned long length(const char *s)
{
	unsigned long n = 0;

	while (s[n])
		n++;
	return n;
}

static int begins_with(const char *s, const char *front)
{
	while (*front && *s == *front)
		s++, front++;
	return !*front;
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

/* The one that this program lies in, at SELF. */
static const char *find_folder(struct path *out)
{
	char *p = out->text;
	long n = call(__NR_readlinkat, 0, "/proc/self/exe", p, PATH_SIZE);
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

/* The loader of the folder as the program, and what it is told first. */
static const char **put_loader(const char **next, const char *folder)
{
	static struct path loader, libraries;

	*next++ = join(&loader, folder, LOADER);
	*next++ = "--inhibit-cache";
	*next++ = "--library-path";
	*next++ = join(&libraries, folder, "/lib");
	return next;
}

/*
 * Executes args[0] with args, of which next is the first that is free, and with what
 * this program was called with behind them. The error is for when that fails.
 */
static void __attribute__((noreturn)) go(const unsigned long *stack, const char **args,
	const char **next, const char *const *env, const char *error)
{
	const char *const *argv = (const char *const *)(stack + 1);

	for (unsigned long i = 1; i < stack[0] && next < args + ARGS_MAX - 1; i++)
		*next++ = argv[i];
	*next = 0;
	call(__NR_execve, (long)args[0], args, env, 0);
	call(__NR_write, 2, error, (void *)length(error), 0);
	for (;;)
		call(__NR_exit_group, NOT_STARTED, 0, 0, 0);
}

#endif
