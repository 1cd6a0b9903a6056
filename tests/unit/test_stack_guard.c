/* A stack's guard is random: the compiler looks for it where the C library keeps it. */
#include "tests/tap.h"

#include <stdint.h>

#if !defined(__GLIBC__)
extern uintptr_t __stack_chk_guard; /* of musl */

static uintptr_t guard(void)
{
	uintptr_t g;

#if defined(__x86_64__)
	__asm__("mov %%fs:0x28, %0" : "=r"(g));
#elif defined(__aarch64__)
	uintptr_t thread;

	__asm__("mrs %0, tpidr_el0" : "=r"(thread));
	g = *(uintptr_t *)(thread - 16);
#endif
	return g;
}

int main(void)
{
	ok(guard() != 0, "there is a guard");
	ok(guard() == __stack_chk_guard, "it is the one that musl has drawn");
	return done_testing();
}
#else
int main(void)
{
	skip("the guard of stacks", "glibc has its own places for it");
	return done_testing();
}
#endif
