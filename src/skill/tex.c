/* The skill that reads LaTeX. */
#include "base/clock.h"
#include "fs/strip.h"
#include "limits.h"
#include "skill/latex.h"
#include "skill/private.h"
#include "skill/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

/*
 * Appends the date as LaTeX prints it: "March 1, 2021". The date is in UTC, the usual
 * time zone of a sandbox.
 */
static void skill_tex_put_today(struct buf *out)
{
	static const char *const months[] = {"January", "February", "March", "April",
		"May", "June", "July", "August", "September", "October", "November",
		"December"};
	time_t now = clock_unix_s();
	struct tm t;

	if (gmtime_r(&now, &t))
		buf_fmt(out, "%s %d, %d", months[t.tm_mon], t.tm_mday, t.tm_year + 1900);
}

static int skill_tex_put_file(const char *path, struct buf *out)
{
	struct buf source = BUF_INIT(SKILL_FILE_MAX + (64 << 10) + 1);
	struct buf today = BUF_INIT(64);
	int r = skill_read_text(AT_FDCWD, path, false, &source);

	skill_tex_put_today(&today);
	if (r >= 0)
		r = latex_put_text(buf_view(&source), buf_view(&today), out);
	buf_free(&source);
	buf_free(&today);
	return r;
}

void skill_parse_latex(struct skill_call *c)
{
	struct buf text = BUF_INIT(SKILL_OUT_MAX);
	const char *path = c->args[0];
	int r = skill_tex_put_file(path, &text);

	if (r == -ENOENT || r == -ENOTDIR || r == ERR_TYPE) {
		skill_set_error(c, "File %s not found.", path);
	} else if (r < 0) {
		skill_set_error(c, "File %s cannot be read: %s", path, err_text(r));
	} else {
		buf_fmt(&c->out, "[Reading LaTex file from %s]\n", path);
		buf_str(&c->out, strip_both(buf_view(&text)));
		buf_putc(&c->out, '\n');
		if (text.err)
			c->out.err = text.err;
	}
	buf_free(&text);
}
