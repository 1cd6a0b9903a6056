#include "shell/shell_private.h"

#include "proc/pty.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>

int shell_type(struct shell *s, struct str bytes)
{
	int r;

	assert(s->rec->state == SHELL_RUNNING);
	r = shell_tty_queue(&s->tty, bytes);
	return r ? r : shell_flush(s);
}

bool shell_takes_keys(const struct shell *s)
{
	return shell_tty_is_raw(&s->tty);
}

/* The terminal does not echo, so this function prints what it would show for a key. */
static void shell_echo_key(struct shell *s, char key)
{
	char text[2] = {'^', key};

	if (!shell_tty_has_signal(&s->tty, key))
		return;
	/* Not inside a mark, nor if it is unknown whether a mark is open. */
	if (s->output.marks.matched || shell_is_restoring(s) ||
		shell_output_has_backlog(&s->output))
		return;
	shell_output_print(&s->output, str_make(text, sizeof(text)));
}

/*
 * The key has brought the shell back to a prompt without our mark: has the shell print a
 * mark, but only if the shell has its terminal for itself.
 */
static void shell_on_prompt_missing(struct timer *t)
{
	struct shell *s = container_of(t, struct shell, timer);

	/*
	 * A shell that ignores the key is not at a prompt: the line would be its input.
	 */
	if (shell_tty_is_foreground(&s->tty, s->rec->pid) &&
		!inspect_ignores_signal(s->rec->pid, SIGINT))
		shell_retype_setup(s);
}

/*
 * Does the key bring the shell back to a prompt? A text that was typed in may still be
 * waiting for its lines: then our line would become one of them.
 */
static bool shell_is_prompt_due(const struct shell *s, char key)
{
	const struct shell_record *rec = s->rec;

	return strchr("CZ\\", key) && rec->started && !rec->text_done && !rec->typed_in;
}

/* Does the shell itself wait for lines of a text that was typed in? */
static bool shell_is_reading_text(const struct shell *s)
{
	return s->rec->typed_in && shell_tty_is_foreground(&s->tty, s->rec->pid);
}

/* Some shells handle an interrupt only when the line that they read is complete. */
static bool shell_has_line_interrupt(const struct shell *s)
{
	return s->setup.kind == SHELLS_ZSH ||
		(s->tty.no_pty && s->setup.kind == SHELLS_MKSH);
}

/*
 * Sends the signal of a key if there is no terminal, or if the terminal takes the key
 * for text. Without a terminal the shell's process group gets the signal: it acts on all
 * that the shell has started, except background jobs.
 */
static int shell_send_key_signal(struct shell *s, char key, bool idle)
{
	pid_t group = s->tty.no_pty || idle
		? s->rec->pid
		: shell_tty_get_foreground(&s->tty, s->rec->pid);

	if (group <= 0)
		return -EIO;
	if (idle && key != 'C')
		return shell_type(s, STR("\n"));
	shell_tty_drop_input(&s->tty);
	if (kill(-group, pty_key_signal(key)) < 0)
		return -errno;
	if (key == 'C' && shell_has_line_interrupt(s) &&
		(idle || shell_is_reading_text(s)))
		return shell_type(s, STR("\n"));
	return 0;
}

/* Types the key, or sends its signal; the reader of the terminal gets it. */
static int shell_press_key(struct shell *s, char up, char control, bool idle, bool quiet)
{
	if (shell_tty_needs_signal(&s->tty, up))
		return shell_send_key_signal(s, up, idle);
	if (up == 'C' && shell_has_line_interrupt(s) &&
		(idle || s->cancelled || shell_is_reading_text(s)))
		return shell_type(s, STR("\003\n"));
	/* Input that waits for a reader must not delay an interrupt. */
	if ((s->tty.typed.n || quiet) && shell_tty_has_signal(&s->tty, up)) {
		shell_tty_drop_input(&s->tty);
		return pty_raise(s->tty.fd, up);
	}
	return shell_type(s, str_make(&control, 1));
}

static int shell_send_key(struct shell *s, char key, bool quiet)
{
	bool idle = s->rec->state == SHELL_IDLE;
	char up = (char)(key >= 'a' && key <= 'z' ? key - 0x20 : key);
	char control = (char)(key & 0x1f);
	int r;

	assert(idle || s->rec->state == SHELL_RUNNING);
	if (s->tty.no_pty && up != 'C' && up != '\\')
		return -ENOTTY;
	/* At the prompt only C and D have an effect; for other keys it is shown again. */
	if (idle && up != 'C' && up != 'D')
		control = '\n';
	if (idle) {
		r = shell_begin(s, STR(""), STR(""));
		if (r < 0)
			return r;
		s->rec->started = true;
	}
	shell_echo_key(s, up);
	if (idle || shell_is_prompt_due(s, up))
		shell_arm(s, SHELL_KEY_MS, shell_on_prompt_missing);
	/* A line that the shell has not taken yet must not be typed again. */
	if (up == 'C' && !s->rec->started) {
		buf_free(&s->line);
		s->cancelled = true;
	}
	r = shell_press_key(s, up, control, idle, quiet);
	/* A stopped shell handles no key, and no other process continues it. */
	if (up == 'C' && s->rec->pid > 0)
		kill(s->rec->pid, SIGCONT);
	if (r == 0 && strchr("CZ\\", up))
		shell_hang_expect(&s->hang);
	return r;
}

int shell_key(struct shell *s, char key)
{
	/*
	 * During a restore nothing reads the output, and the key would discard what
	 * waits.
	 */
	return shell_send_key(s, key, shell_is_restoring(s));
}

int shell_interrupt(struct shell *s)
{
	return shell_send_key(s, 'c', true);
}

int shell_signal(struct shell *s, int signo)
{
	pid_t pid = s->rec->pid;
	int r = pid > 0 ? tree_signal(pid, signo) : -ESRCH;
	pid_t group = s->tty.fd < 0 ? 0 : shell_tty_get_foreground(&s->tty, pid);

	if (r >= 0)
		return 0;
	if (group <= 0 || group == pid)
		return r;
	return kill(-group, signo) < 0 ? -errno : 0;
}

int shell_resize(struct shell *s, uint16_t rows, uint16_t columns)
{
	if (s->tty.fd < 0 || s->tty.no_pty)
		return -ENOTTY;
	return pty_resize(s->tty.fd, rows, columns);
}
