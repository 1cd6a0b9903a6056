/* od-runtime: turns images into sandboxes; see docs/architecture.md. */
#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/engine/far.h"
#include "inject/image/carried.h"
#include "inject/image/program.h"
#include "inject/options/options.h"

#include <errno.h>

/* Writes the architectures of the programs in a section of our own file, as a list. */
static int main_write_carried(struct jw *w, const char *key, struct str section)
{
	struct buf list = BUF_INIT(256);
	int r = program_carried(section, &list);
	struct str rest = str_trim(buf_view(&list), " ");

	jw_key(w, key);
	jw_array(w);
	while (rest.n)
		jw_str(w, str_cut(&rest, ' '));
	jw_end(w);
	buf_free(&list);
	return r;
}

static int write_json(struct buf *out)
{
	struct jw w;
	int r;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "version");
	jw_cstr(&w, OD_VERSION);
	r = main_write_carried(&w, "clients", STR(CARRIED_CLIENT));
	if (!r)
		r = main_write_carried(&w, "plugins", STR(CARRIED_PLUGINS));
	jw_end(&w);
	return r;
}

static int print_version(bool json)
{
	struct buf b = BUF_INIT(INJECT_TEXT_MAX);
	int r = 0;

	if (json)
		r = write_json(&b);
	else
		buf_puts(&b, "od-runtime " OD_VERSION);
	buf_putc(&b, '\n');
	if (!r)
		r = out_buf(&b);
	buf_free(&b);
	return r;
}

/*
 * Ends after a wait was ended by a signal, or by --timeout, which has its own exit code.
 */
static int main_end_interrupted(const struct options *o)
{
	if (stop_signal() || !stop_limit_ended())
		return -EINTR;
	out_fail(
		"what it waited for may go on in the sandbox; od-runtime logs shows what "
		"the sandbox's server has written",
		"%s: no answer within --timeout %s", o->command->name, o->timeout_text);
	return EXIT_TIMEOUT;
}

int main(int argc, char **argv)
{
	struct options o;
	int r = stop_init();

	if (!r)
		r = options_read(&o, argc, argv);
	if (!r) {
		if (o.version)
			r = print_version(o.json);
		else if (o.help)
			r = options_help(o.command);
		else
			r = o.command->run(&o);
		if (r == -EINTR)
			r = main_end_interrupted(&o);
	}
	far_close();
	return r < 0 ? out_exit_code(r) : r;
}
