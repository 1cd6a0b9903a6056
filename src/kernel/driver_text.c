/* The driver's own text, as it stands in driver.py. */
#include "kernel/driver_private.h"

__asm__(".pushsection .rodata\n"
	".global driver_text_bytes\n"
	".global driver_text_n\n"
	"driver_text_bytes:\n"
	".incbin \"src/kernel/driver.py\"\n"
	"1:\n"
	".balign 4\n"
	"driver_text_n:\n"
	".long 1b - driver_text_bytes\n"
	".popsection\n");

extern const char driver_text_bytes[];
extern const uint32_t driver_text_n;

struct str driver_text(void)
{
	return str_make(driver_text_bytes, driver_text_n);
}
