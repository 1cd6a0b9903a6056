#include "shell/shell_private.h"

#include "base/log.h"
#include "proc/inspect.h"
#include "proc/pty.h"
#include "shell/script.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* Without a terminal the shell would read input ahead, after its line, and keep it. */
static bool shell_is_input_blocked(const struct shell *s)
{
	return s->rec->no_tty && s->rec->state == SHELL_RUNNING && !s->rec->started;
}

int shell_flush(struct shell *s)
{
	bool wait = shell_is_input_blocked(s);

	while (s->typed.n && !wait) {
		ssize_t n = write(s->master, s->typed.p, s->typed.n);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			buf_consume(&s->typed, (size_t)n);
	}
	loop_set_events(
		s->loop, &s->io, s->typed.n && !wait ? EPOLLIN | EPOLLOUT : EPOLLIN);
	if (s->typed.n == 0)
		buf_free(&s->typed);
	return 0;
}

/* A terminal in canonical mode cuts a longer line without an error. */
static bool shell_has_long_line(struct str bytes)
{
	while (bytes.n)
		if (str_cut(&bytes, '\n').n > SHELL_LINE_MAX)
			return true;
	return false;
}

int shell_type(struct shell *s, struct str bytes)
{
	assert(s->rec->state == SHELL_RUNNING);
	if (s->master < 0)
		return -EIO;
	if (pty_is_canonical(s->master) && shell_has_long_line(bytes))
		return -EMSGSIZE;
	if (bytes.n > SHELL_INPUT_MAX - s->typed.n)
		return ERR_LIMIT;
	buf_str(&s->typed, bytes);
	return s->typed.err ? s->typed.err : shell_flush(s);
}

bool shell_takes_keys(const struct shell *s)
{
	return s->master >= 0 && !s->rec->no_tty && !pty_is_canonical(s->master);
}

/* The terminal does not echo, so this function prints what it would show for a key. */
static void shell_echo_key(struct shell *s, char key)
{
	char text[2] = {'^', key};

	if (!strchr("CZ\\", key) || !pty_has_signals(s->master))
		return;
	/* Not inside a mark, nor if it is unknown whether a mark is open. */
	if (s->marks.matched || shell_is_restoring(s) || shell_has_backlog(s))
		return;
	shell_print(s, str_make(text, sizeof(text)));
}

void shell_retype_setup(struct shell *s)
{
	struct buf line = BUF_INIT(SPOOL_READ);

	script_setup_restore(&line, s->setup.kind, shell_is_tty_reachable(s),
		s->rec->nonce, s->rec->id);
	if (line.err || shell_type_line(s, buf_view(&line)) < 0)
		log_warn("shell %s: its terminal does not accept input", s->setup.name);
	buf_free(&line);
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
	if (shell_is_foreground(s) && !inspect_ignores_signal(s->rec->pid, SIGINT))
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
	return s->rec->typed_in && shell_is_foreground(s);
}

/* Some shells handle an interrupt only when the line that they read is complete. */
static bool shell_has_line_interrupt(const struct shell *s)
{
	return s->setup.kind == SHELLS_ZSH ||
		(s->rec->no_tty && s->setup.kind == SHELLS_MKSH);
}

/*
 * Sends the signal of a key if there is no terminal, or if the terminal takes the key
 * for text. Without a terminal the shell's process group gets the signal: it acts on all
 * that the shell has started, except background jobs.
 */
static int shell_send_key_signal(struct shell *s, char key, bool idle)
{
	pid_t group = s->rec->no_tty || idle ? s->rec->pid : shell_get_foreground(s);

	if (group <= 0)
		return -EIO;
	if (idle && key != 'C')
		return shell_type(s, STR("\n"));
	buf_free(&s->typed);
	if (kill(-group, pty_key_signal(key)) < 0)
		return -errno;
	if (key == 'C' && shell_has_line_interrupt(s) &&
		(idle || shell_is_reading_text(s)))
		return shell_type(s, STR("\n"));
	return 0;
}

/* Must this process send the signal of the key, because no terminal does? */
static bool shell_is_signal_needed(const struct shell *s, char key)
{
	return s->rec->no_tty ||
		(strchr("CZ\\", key) && pty_has_signals(s->master) &&
			pty_foreground(s->master) == -ENOTTY);
}

/* Types the key, or sends its signal; the reader of the terminal gets it. */
static int shell_press_key(struct shell *s, char up, char control, bool idle, bool quiet)
{
	if (shell_is_signal_needed(s, up))
		return shell_send_key_signal(s, up, idle);
	if (up == 'C' && shell_has_line_interrupt(s) &&
		(idle || s->cancelled || shell_is_reading_text(s)))
		return shell_type(s, STR("\003\n"));
	/* Input that waits for a reader must not delay an interrupt. */
	if ((s->typed.n || quiet) && strchr("CZ\\", up) && pty_has_signals(s->master)) {
		buf_free(&s->typed);
		return pty_raise(s->master, up);
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
	if (s->rec->no_tty && up != 'C' && up != '\\')
		return -ENOTTY;
	/* At the prompt only C and D have an effect; for other keys it is shown again. */
	if (idle && up != 'C' && up != 'D')
		control = '\n';
	if (idle) {
		r = shell_begin(s, STR(""));
		shell_store_command(s, STR(""));
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
		shell_expect_hang(s);
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
