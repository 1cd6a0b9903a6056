/* The embedded Python sources. */
#include "kernel/driver.h"

#include "base/embed.h"

EMBED(driver_packed, "src/kernel/driver.py");
EMBED(skills_packed, "src/kernel/skills.py");

/*
 * The first lines, which every Python parses; too old versions end at the version
 * check. The driver itself follows as a frame.
 */
const char driver_boot[] =
	"import os,sys\n"
	"sys.version_info>=(3,6) or sys.exit('Python '+sys.version.split()[0]+"
	"' is too old')\n"
	"def read(n):\n"
	" b=b''\n"
	" while len(b)<n:\n"
	"  c=os.read(3,n-len(b))\n"
	"  c or os._exit(0)\n"
	"  b+=c\n"
	" return b\n"
	"os.set_inheritable(3,False)\n"
	"h=b'{\"t\":\"hello\"}'\n"
	"os.write(3,len(h).to_bytes(4,'little')+h)\n"
	"exec(compile(read(int.from_bytes(read(4),'little')),'<driver>','exec'),"
	"{'__name__':'_od_driver'})\n";

struct str driver_text(void)
{
	return embed_text(&driver_packed);
}

struct str skills_text(void)
{
	return embed_text(&skills_packed);
}
