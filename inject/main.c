/* od-runtime: turns images into sandboxes; see docs/architecture.md. */
#include "base/jw.h"
#include "inject/console/out.h"
#include "inject/console/stop.h"
#include "inject/engine/remote_engine.h"
#include "inject/image/embedded.h"
#include "inject/image/program.h"
#include "inject/options/options.h"

/* Writes the architectures of the programs in a section of our own file, as a list. */
static int main_write_embedded(struct jw *w, const char *key, struct str section)
{
	struct buf list = BUF_INIT(256);
	int r = program_list_embedded(section, &list);
	struct str rest = str_trim(buf_view(&list), " ");

	jw_key(w, key);
	jw_array(w);
	while (rest.n)
		jw_str(w, str_cut(&rest, ' '));
	jw_end(w);
	buf_free(&list);
	return r;
}

static int main_write_version(struct buf *out)
{
	struct jw w;
	int r;

	jw_init(&w, out);
	jw_object(&w);
	jw_key(&w, "version");
	jw_cstr(&w, OD_VERSION);
	r = main_write_embedded(&w, "clients", STR(EMBEDDED_CLIENT));
	if (!r)
		r = main_write_embedded(&w, "plugins", STR(EMBEDDED_PLUGINS));
	jw_end(&w);
	return r;
}

static int main_print_version(bool json)
{
	struct buf b = BUF_INIT(INJECT_TEXT_MAX);
	int r = 0;

	if (json)
		r = main_write_version(&b);
	else
		buf_puts(&b, "od-runtime " OD_VERSION);
	buf_putc(&b, '\n');
	if (!r)
		r = out_write_buf(&b);
	buf_free(&b);
	return r;
}

int main(int argc, char **argv)
{
	struct command_line line = {0};
	int r = stop_init();

	if (!r)
		r = options_read(&line, argc, argv);
	if (!r) {
		if (line.version)
			r = main_print_version(line.json);
		else if (line.help)
			r = options_print_help(line.command);
		else
			r = line.command->run(&line);
	}
	options_free(&line);
	remote_engine_close();
	return r < 0 ? out_exit_code(r) : r;
}
