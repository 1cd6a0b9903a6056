/*
 * bin/python3 of the folder that tools/plugin-python makes: starts the Python there
 * with the loader and the libraries there. It is a program, as an image may have no
 * shell for a script, and has no C library, so that any compiler will do. No variable
 * tells Python where it is: what a cell starts would inherit it.
 */
#include <asm/unistd.h>
#include <linux/auxvec.h>

#define HOME "/.od/plugins/python" /* where /proc does not tell */
#define SELF "/bin/python3"

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

static int has_slash(const char *s)
{
	while (*s && *s != '/')
		s++;
	return *s;
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

/* The folder is two levels above this program. */
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

static int begins_with(const char *s, const char *front)
{
	while (*front && *s == *front)
		s++, front++;
	return !*front;
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
	static struct path home, loader, libraries, self, program;
	static const char *args[ARGS_MAX];
	static const char words[] = "python3: its loader cannot be started\n";
	const char *const *argv = (const char *const *)(stack + 1);
	const char *const *env = argv + stack[0] + 1;
	const char *folder = find_folder(&home), *name = called(argv, env);
	const char **next = args;

	hide((char **)(stack + stack[0] + 2));
	*next++ = join(&loader, folder, LOADER);
	*next++ = "--inhibit-cache";
	*next++ = "--library-path";
	*next++ = join(&libraries, folder, "/lib");
	*next++ = "--argv0";
	*next++ = name ? name : join(&self, folder, SELF);
	*next++ = join(&program, folder, "/libexec/python3.11");
	for (unsigned long i = 1; i < stack[0] && next < args + ARGS_MAX - 1; i++)
		*next++ = argv[i];
	call(__NR_execve, (long)loader.text, args, env, 0);
	call(__NR_write, 2, words, (void *)(sizeof(words) - 1), 0);
	for (;;)
		call(__NR_exit_group, NOT_STARTED, 0, 0, 0);
}
