/* The embedded Python sources. */
#include "kernel/driver_private.h"

#include "base/embed.h"

EMBED(driver_packed, "src/kernel/driver.py");
EMBED(skills_packed, "src/kernel/skills.py");

struct str driver_text(void)
{
	return embed_text(&driver_packed);
}

struct str skills_text(void)
{
	return embed_text(&skills_packed);
}
