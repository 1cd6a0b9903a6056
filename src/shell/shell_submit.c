#include "shell/shell_private.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/utf8.h"
#include "codec/split.h"
#include "proc/pty.h"
#include "shell/script.h"

#include <assert.h>
#include <errno.h>

enum {
	SHELL_ACCEPT_MS = 5000,       /* a prompt that does not take a line is stuck */
	SHELL_DOCUMENT_MAX = 1900,    /* bytes typed in with one write of 2,048 */
	SHELL_COMMAND_MAX = 16 << 20, /* bytes; above the largest request body */
};

static const char note_stuck[] =
	"The shell did not take the command within 5 seconds and was "
	"killed. The next command gets a new one in the same "
	"directory.";

static timer_fn shell_on_accept_timeout;

void shell_probe(struct timer *t)
{
	struct shell *s = container_of(t, struct shell, timer);

	s->probing = true;
	shell_arm(s, SHELL_ACCEPT_MS, shell_on_accept_timeout);
	if (shell_tty_type_line(&s->tty, STR("\n")) < 0)
		log_warn("shell %s: its terminal does not accept input", s->setup.name);
}

int shell_new_id(char id[MARK_ID + 1])
{
	uint8_t random[MARK_ID / 2];
	int r = random_bytes(random, sizeof(random));

	if (r == 0)
		hex_encode(random, sizeof(random), id);
	return r;
}

static void shell_on_accept_timeout(struct timer *t)
{
	struct shell *s = container_of(t, struct shell, timer);

	/* A line typed ahead is still running and comes first. */
	if (!shell_tty_is_foreground(&s->tty, s->rec->pid)) {
		shell_arm(s, SHELL_ACCEPT_MS, shell_on_accept_timeout);
		return;
	}
	s->note = note_stuck;
	shell_kill(s);
}

bool shell_is_lead(struct shell *s)
{
	return s->rec->typed_in && s->prompts++ == 0;
}

/* The text of the command, for shell_command. */
static void shell_store_command(struct shell *s, struct str command)
{
	if (command.n > SHELL_COMMAND_SHOWN) {
		command.n = SHELL_COMMAND_SHOWN;
		command.n -= utf8_unfinished_length(command);
	}
	memcpy(s->rec->command, command.p, command.n);
	s->rec->command[command.n] = '\0';
}

int shell_begin(struct shell *s, struct str tag, struct str command)
{
	struct shell_record *rec = s->rec;

	assert(tag.n <= SHELL_TAG_MAX);
	shell_store_command(s, command);
	if (tag.n)
		memcpy(rec->tag, tag.p, tag.n);
	rec->tag[tag.n] = '\0';
	rec->begun = shell_output_get_fed(&s->output);
	rec->started = false;
	rec->typed_in = false;
	rec->text_done = false;
	s->cancelled = false;
	s->verdict = 0;
	rec->reports = 0;
	rec->oom_known = cgroup_oom_kills(s->setup.cgroup, &rec->oom_before) == 0;
	rec->oom_kills = 0;
	pty_reset_modes(s->tty.fd);
	shell_set_state(s, SHELL_RUNNING);
	return shell_tty_watch(&s->tty);
}

/* Types the line of the command; r < 0: there is no line. */
static void shell_send_line(struct shell *s, int r)
{
	if (r == 0)
		r = s->line.err ? s->line.err
				: shell_tty_type_line(&s->tty, buf_view(&s->line));
	loop_busy_poll(s->loop, SHELL_AWAKE_US);
	/* If the terminal takes no line, its shell is stuck. */
	shell_arm(s, r < 0 ? 1 : SHELL_ACCEPT_MS, shell_on_accept_timeout);
}

void shell_retype_line(struct shell *s)
{
	s->probing = false;
	shell_send_line(s, 0);
}

void shell_retype_setup(struct shell *s)
{
	struct buf line = BUF_INIT(SPOOL_READ);

	script_setup_restore(&line, s->setup.kind, shell_tty_is_reachable(&s->tty),
		s->rec->nonce, s->rec->id);
	if (line.err || shell_tty_type_line(&s->tty, buf_view(&line)) < 0)
		log_warn("shell %s: its terminal does not accept input", s->setup.name);
	buf_free(&line);
}

/* Is the command a text that waits for more lines, which only a terminal can supply? */
static bool shell_is_document(const struct shell *s, struct str command)
{
	return !s->rec->edits && command.n <= SHELL_DOCUMENT_MAX &&
		script_is_plain(command) && split_is_in_document(command);
}

/*
 * Types the command in one write, so that a crash leaves all of it or nothing. From then
 * on the shell reads its lines as from a person; input and keys reach it the same way.
 */
static int shell_type_document(struct shell *s, struct str command, struct str tag)
{
	struct shell_record *rec = s->rec;
	int r = shell_new_id(rec->id);

	if (r < 0)
		return r;
	script_put_lead(
		&s->line, s->setup.kind, rec->id, rec->status < 0 ? 0 : rec->status);
	buf_str(&s->line, command);
	buf_putc(&s->line, '\n');
	r = shell_begin(s, tag, command);
	rec->typed_in = true;
	s->prompts = 0;
	shell_send_line(s, r);
	return 0;
}

/* mksh crashes if a file ends in an alias without a newline. */
static const char *shell_get_file_end(const struct shell *s)
{
	return script_reads_first(s->setup.kind) ? "" : "\n";
}

/*
 * Makes the line that runs the command, and the file of the command if it needs a file.
 */
static int shell_make_line(struct shell *s, struct str command, struct buf *line)
{
	struct shell_record *rec = s->rec;
	int status = rec->status < 0 ? 0 : rec->status;
	int r = 0;

	if (rec->edits || !script_can_type(s->setup.kind, command))
		r = handover_write(
			command, shell_get_file_end(s), s->setup.user, rec->handover);
	if (r < 0 && (rec->edits || !script_is_plain(command)))
		return r;
	script_submit(line, s->setup.kind, command, rec->handover, rec->id, status);
	/* If no folder takes a file, a short plain text needs none. */
	return r < 0 && (line->err || line->n > TTY_LINE_MAX) ? r : line->err;
}

int shell_submit(struct shell *s, struct str command, struct str tag)
{
	int r;

	assert(s->rec->state == SHELL_IDLE);
	if (command.n > SHELL_COMMAND_MAX)
		return ERR_LIMIT;
	buf_free(&s->line);
	if (s->lost)
		shell_retype_setup(s);
	s->lost = false;
	if (shell_is_document(s, command))
		return shell_type_document(s, command, tag);
	r = shell_new_id(s->rec->id);
	if (r == 0)
		r = shell_make_line(s, command, &s->line);
	if (r == 0)
		shell_send_line(s, shell_begin(s, tag, command));
	else
		shell_remove_handover(s);
	return r;
}
