#include "shell/shell_private.h"

#include "base/log.h"
#include "proc/peek.h"
#include "proc/pty.h"
#include "shell/script.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* Without a terminal the shell would read input ahead, after its line, and keep it. */
static bool must_wait(const struct shell *s)
{
	return s->rec->no_tty && s->rec->state == SHELL_RUNNING && !s->rec->started;
}

int shell_flush(struct shell *s)
{
	bool wait = must_wait(s);

	while (s->typed.n && !wait) {
		ssize_t n = write(s->master, s->typed.p, s->typed.n);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			buf_consume(&s->typed, (size_t)n);
	}
	loop_want(s->loop, &s->io, s->typed.n && !wait ? EPOLLIN | EPOLLOUT : EPOLLIN);
	if (s->typed.n == 0)
		buf_free(&s->typed);
	return 0;
}

/* A terminal in canonical mode cuts a longer line without an error. */
static bool too_long_a_line(struct str bytes)
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
	if (pty_collects_lines(s->master) && too_long_a_line(bytes))
		return -EMSGSIZE;
	if (bytes.n > SHELL_INPUT_MAX - s->typed.n)
		return ERR_LIMIT;
	buf_str(&s->typed, bytes);
	return s->typed.err ? s->typed.err : shell_flush(s);
}

bool shell_takes_keys(const struct shell *s)
{
	return s->master >= 0 && !s->rec->no_tty && !pty_collects_lines(s->master);
}

/* The terminal does not echo, so this function prints what it would show for a key. */
static void echo_key(struct shell *s, char key)
{
	char text[2] = {'^', key};

	if (!strchr("CZ\\", key) || !pty_signals_on(s->master))
		return;
	/* Not inside a mark, nor if it is unknown whether a mark is open. */
	if (s->marks.matched || shell_is_restoring(s) || shell_has_backlog(s))
		return;
	shell_print(s, str_make(text, sizeof(text)));
}

void shell_set_up_again(struct shell *s)
{
	struct buf line = BUF_INIT(SPOOL_READ);

	script_setup_again(
		&line, s->setup.kind, shell_reaches_tty(s), s->rec->nonce, s->rec->id);
	if (line.err || shell_type_line(s, buf_view(&line)) < 0)
		log_warn("shell %s: its terminal takes no input", s->setup.name);
	buf_free(&line);
}

/*
 * The key has brought the shell back to a prompt without our mark: has the shell print a
 * mark, but only if the shell has its terminal for itself.
 */
static void prompt_missing(struct timer *t)
{
	struct shell *s = container_of(t, struct shell, timer);

	/*
	 * A shell that ignores the key is not at a prompt: the line would be its input.
	 */
	if (shell_is_in_front(s) && !peek_ignores(s->rec->pid, SIGINT))
		shell_set_up_again(s);
}

/*
 * Does the key bring the shell back to a prompt? A text that was typed in may still be
 * waiting for its lines: then our line would become one of them.
 */
static bool is_due_a_prompt(const struct shell *s, char key)
{
	const struct record *rec = s->rec;

	return strchr("CZ\\", key) && rec->started && !rec->text_done && !rec->typed_in;
}

/* Does the shell itself wait for lines of a text that was typed in? */
static bool is_reading(const struct shell *s)
{
	return s->rec->typed_in && shell_is_in_front(s);
}

/* Some shells handle an interrupt only when the line that they read is complete. */
static bool interrupt_needs_line(const struct shell *s)
{
	return s->setup.kind == SHELLS_ZSH ||
		(s->rec->no_tty && s->setup.kind == SHELLS_MKSH);
}

/*
 * Sends the signal of a key if there is no terminal, or if the terminal takes the key
 * for text. Without a terminal the shell's process group gets the signal: it acts on all
 * that the shell has started, except background jobs.
 */
static int send_signal(struct shell *s, char key, bool idle)
{
	pid_t group = s->rec->no_tty || idle ? s->rec->pid : shell_front(s);

	if (group <= 0)
		return -EIO;
	if (idle && key != 'C')
		return shell_type(s, STR("\n"));
	buf_free(&s->typed);
	if (kill(-group, pty_signal_of(key)) < 0)
		return -errno;
	if (key == 'C' && interrupt_needs_line(s) && (idle || is_reading(s)))
		return shell_type(s, STR("\n"));
	return 0;
}

/* Must this process send the signal of the key, because no terminal does? */
static bool must_signal(const struct shell *s, char key)
{
	return s->rec->no_tty ||
		(strchr("CZ\\", key) && pty_signals_on(s->master) &&
			pty_foreground(s->master) == -ENOTTY);
}

/* Types the key, or sends its signal; the reader of the terminal gets it. */
static int press(struct shell *s, char up, char control, bool idle, bool quiet)
{
	if (must_signal(s, up))
		return send_signal(s, up, idle);
	if (up == 'C' && interrupt_needs_line(s) &&
		(idle || s->cancelled || is_reading(s)))
		return shell_type(s, STR("\003\n"));
	/* Input that waits for a reader must not delay an interrupt. */
	if ((s->typed.n || quiet) && strchr("CZ\\", up) && pty_signals_on(s->master)) {
		buf_free(&s->typed);
		return pty_raise(s->master, up);
	}
	return shell_type(s, str_make(&control, 1));
}

static int key_or_signal(struct shell *s, char key, bool quiet)
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
		shell_remember(s, STR(""));
		if (r < 0)
			return r;
		s->rec->started = true;
	}
	echo_key(s, up);
	if (idle || is_due_a_prompt(s, up))
		shell_arm(s, SHELL_KEY_MS, prompt_missing);
	/* A line that the shell has not taken yet must not be typed again. */
	if (up == 'C' && !s->rec->started) {
		buf_free(&s->line);
		s->cancelled = true;
	}
	r = press(s, up, control, idle, quiet);
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
	return key_or_signal(s, key, shell_is_restoring(s));
}

int shell_interrupt(struct shell *s)
{
	return key_or_signal(s, 'c', true);
}
