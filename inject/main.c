/* od-runtime: turns images into sandboxes. docs/architecture.md has the picture. */
#include "inject/options.h"
#include "inject/out.h"
#include "inject/stop.h"

static int print_version(void)
{
	struct buf b = BUF_INIT(64);
	int r;

	buf_puts(&b, "od-runtime " OD_VERSION "\n");
	r = out_buf(&b);
	buf_free(&b);
	return r;
}

int main(int argc, char **argv)
{
	struct options o;
	int r = stop_init();

	if (!r)
		r = options_read(&o, argc, argv);
	if (!r) {
		if (o.version)
			r = print_version();
		else if (o.help)
			r = options_help(o.command);
		else
			r = o.command->run(&o);
	}
	return r < 0 ? out_exit_code(r) : r;
}
