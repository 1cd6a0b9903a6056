/* The driver's own text, as it stands in driver.py. */
#include "kernel/driver_private.h"

__asm__(".pushsection .rodata\n"
	".global driver_text_begin\n"
	".global driver_text_end\n"
	"driver_text_begin:\n"
	".incbin \"src/kernel/driver.py\"\n"
	"driver_text_end:\n"
	".byte 0\n"
	".popsection\n");

extern const char driver_text_begin[], driver_text_end[];

struct str driver_text(void)
{
	return str_make(driver_text_begin, (size_t)(driver_text_end - driver_text_begin));
}
