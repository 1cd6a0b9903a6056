/*
 * The entry point of the program: relocates it to its load address. musl does that except
 * for packed relocations (RELR of the generic ABI), which save 47 KB. No code here may
 * need relocation itself; there is no stack protector yet.
 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* As in the generic ABI; headers of older C libraries lack them. */
enum { TAG_RELR_SIZE = 35, TAG_RELR = 36 };

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const Elf64_Dyn _DYNAMIC[] __attribute__((visibility("hidden")));

/*
 * The kernel jumps to od_start; musl's _start finds the registers and the stack
 * unchanged.
 */
#if defined(__x86_64__)
__asm__(".pushsection .text.od_start,\"ax\",@progbits\n"
	".global od_start\n"
	".hidden od_start\n"
	"od_start:\n"
	"	xor %ebp, %ebp\n"
	"	call start_relocate\n"
	"	jmp _start\n"
	".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text.od_start,\"ax\",@progbits\n"
	".global od_start\n"
	".hidden od_start\n"
	"od_start:\n"
	"	bti c\n"
	"	bl start_relocate\n"
	"	b _start\n"
	".popsection\n");
#endif

/*
 * An even entry is the offset of an address; the bits of an odd entry stand for the 63
 * addresses that follow.
 */
static void start_apply_relr(const char *base, const uint64_t *entry, const uint64_t *end)
{
	uint64_t place = 0;

	for (; entry < end; entry++) {
		uint64_t bits = *entry & 1 ? *entry : 3;

		if (!(*entry & 1))
			place = *entry;
		for (size_t i = 0; bits >>= 1; i++)
			if (bits & 1)
				*(uintptr_t *)(base + place + i * 8) += (uintptr_t)base;
		place += *entry & 1 ? 63 * 8 : 8;
	}
}

void start_relocate(void);

__attribute__((no_stack_protector, used, visibility("hidden"))) void start_relocate(void)
{
	const char *base = __ehdr_start;
	const char *at = NULL;
	size_t n = 0;

	for (const Elf64_Dyn *d = _DYNAMIC; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == TAG_RELR)
			at = base + d->d_un.d_ptr;
		else if (d->d_tag == TAG_RELR_SIZE)
			n = d->d_un.d_val;
	}
	if (at)
		start_apply_relr(base, (const void *)at, (const void *)(at + n));
}
