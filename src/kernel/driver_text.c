/* Python texts of ours, as they stand in their files. */
#include "kernel/driver_private.h"

#define EMBED(NAME, FILE) \
	__asm__(".pushsection .rodata\n" \
		".global " #NAME "_bytes\n" \
		".global " #NAME "_n\n" #NAME "_bytes:\n" \
		".incbin \"" FILE "\"\n" \
		"1:\n" \
		".balign 4\n" #NAME "_n:\n" \
		".long 1b - " #NAME "_bytes\n" \
		".popsection\n"); \
	extern const char NAME##_bytes[]; \
	extern const uint32_t NAME##_n

EMBED(driver_text, "src/kernel/driver.py");
EMBED(skills_text, "src/kernel/skills.py");

struct str driver_text(void)
{
	return str_make(driver_text_bytes, driver_text_n);
}

struct str skills_text(void)
{
	return str_make(skills_text_bytes, skills_text_n);
}
