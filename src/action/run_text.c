#include "action/run_text.h"

#include "base/float.h"

/* Advice to an agent about a command that is still running. */
#define WHAT_NOW \
	"You may wait longer to see additional output by sending empty command '', " \
	"send " \
	"other commands to interact with the current process, send keys (\"C-c\", " \
	"\"C-z\", " \
	"\"C-d\") to interrupt/kill the previous command before sending your new " \
	"command, " \
	"or use the timeout parameter in execute_bash for future commands.]"

struct str run_strip_blanks(struct str text)
{
	static const char blanks[] = " \t\r\n\v\f";
	size_t line = 0;

	for (size_t i = 0; i < text.n && memchr(blanks, text.p[i], sizeof(blanks) - 1);
		i++)
		if (text.p[i] == '\n')
			line = i + 1;
	text = str_skip(text, line);
	while (text.n && memchr(blanks, text.p[text.n - 1], sizeof(blanks) - 1))
		text.n--;
	return text;
}

char run_parse_key(struct str command)
{
	bool is = command.n == 3 && str_starts(command, STR("C-")) && command.p[2] > ' ';

	return is ? command.p[2] : '\0';
}

void run_note_oom(struct buf *out, const struct shell_result *r)
{
	buf_fmt(out,
		"[While the command ran, the kernel's out-of-memory killer ended %llu "
		"%s of the sandbox.",
		(unsigned long long)r->oom_kills,
		r->oom_kills == 1 ? "process" : "processes");
	if (r->memory_limit)
		buf_fmt(out, " The memory limit is %llu MiB.",
			(unsigned long long)(r->memory_limit >> 20));
	buf_putc(out, ']');
}

static void run_suffix_oom(struct buf *out, const struct shell_result *r)
{
	if (r->oom_kills == 0)
		return;
	buf_putc(out, '\n');
	run_note_oom(out, r);
}

void run_suffix_finished(struct buf *out, const struct shell_result *r, char key)
{
	if (r->status < 0) {
		buf_fmt(out, "\n[%s]", r->note ? r->note : "The command was not run.");
		run_suffix_oom(out, r);
		return;
	}
	buf_fmt(out, "\n[The command completed with exit code %d.", r->status);
	if (key)
		buf_fmt(out, " CTRL+%c was sent.",
			key >= 'a' && key <= 'z' ? key - 0x20 : key);
	buf_putc(out, ']');
	if (r->note)
		buf_fmt(out, "\n[%s]", r->note);
	run_suffix_oom(out, r);
}

void run_suffix_no_change(struct buf *out, unsigned seconds)
{
	buf_fmt(out, "\n[The command has no new output after %u seconds. ", seconds);
	buf_puts(out, WHAT_NOW);
}

void run_suffix_timed_out(struct buf *out, double seconds)
{
	char text[FLOAT_TEXT];

	float_format(seconds, text);
	buf_fmt(out, "\n[The command timed out after %s seconds. ", text);
	buf_puts(out, WHAT_NOW);
}

void run_suffix_refused(struct buf *out, struct str command)
{
	buf_puts(out, "\n[Your command \"");
	buf_str(out, command);
	buf_puts(out,
		"\" is NOT executed. The previous command is still running - You CANNOT "
		"send "
		"new commands until the previous command is completed. By setting "
		"`is_input` "
		"to `true`, you can interact with the current process: " WHAT_NOW);
}

/*
 * "cat (pid 7: Operation not permitted)". Bytes of the name that are not printable become
 * '?'.
 */
static void run_text_put_survivor(struct buf *out, const struct tree_survivor *left)
{
	for (const char *p = left->name; *p; p++)
		buf_putc(out, *p > ' ' && *p < 0x7f ? *p : '?');
	buf_fmt(out, " (pid %d: %s)", (int)left->pid,
		left->err ? err_text(left->err) : "it does not end");
}

void run_suffix_killed(struct buf *out, const struct tree *report)
{
	buf_fmt(out,
		"\n[It was a static run, which nobody can come back to: %zu %s killed.",
		report->killed, report->killed == 1 ? "process was" : "processes were");
	if (report->blind)
		buf_puts(out, " Without /proc others cannot be found.");
	for (size_t i = 0; i < report->survivors_n; i++) {
		buf_puts(out, i ? ", " : " Could not be killed: ");
		run_text_put_survivor(out, &report->survivors[i]);
	}
	buf_putc(out, ']');
}

void run_suffix_no_terminal(struct buf *out, int err)
{
	buf_fmt(out,
		"\n[There is no terminal (/dev/ptmx: %s): the shell and its commands "
		"have "
		"a socket for their input and output. Programs that need a terminal do "
		"not work, and of the keys only C-c and C-\\ do.]",
		err_text(err));
}

void run_put_key_error(struct buf *out, char key, int err)
{
	buf_fmt(out,
		"ERROR: C-%c was not sent: there is no terminal (/dev/ptmx: %s), and "
		"only "
		"a terminal gives this key a meaning. ",
		key, err_text(err));
	if (key == 'd' || key == 'D')
		buf_puts(out,
			"Give a command the end of its input with `< FILE` or a "
			"here-document; `exit` ends the shell. ");
	buf_puts(out, "C-c interrupts a command, C-\\ quits it.");
}

void run_prefix_truncated(struct buf *out, size_t kept)
{
	buf_fmt(out,
		"[Previous command outputs are truncated. Showing the last %zu lines of "
		"the "
		"output below.]\n",
		kept);
}
