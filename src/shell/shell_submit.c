#include "shell/shell_private.h"

#include "base/hash.h"
#include "base/log.h"
#include "codec/split.h"
#include "proc/pty.h"
#include "shell/script.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

enum {
	SHELL_ACCEPT_MS = 5000,       /* a prompt that does not take a line is stuck */
	SHELL_DOCUMENT_MAX = 1900,    /* bytes typed in with one write of 2,048 */
	SHELL_COMMAND_MAX = 16 << 20, /* bytes; above the largest request body */
};

static const char note_stuck[] =
	"The shell did not take the command within 5 seconds and was "
	"killed. The next command gets a new one in the same "
	"directory.";

pid_t shell_get_foreground(const struct shell *s)
{
	pid_t group = pty_foreground(s->master);

	if (group != -ENOTTY || s->rec->no_tty || s->rec->pid <= 0)
		return group;
	return tree_guess_foreground(s->rec->pid);
}

bool shell_is_foreground(const struct shell *s)
{
	if (!s->rec->no_tty)
		return shell_get_foreground(s) == s->rec->pid;
	return tree_signal(s->rec->pid, 0) == 0;
}

bool shell_is_tty_reachable(const struct shell *s)
{
	return !s->rec->no_tty && !s->rec->poor_tty;
}

/*
 * Writes a short line while the terminal's queue is empty. The kernel takes 2,048 bytes
 * at a time, and a signal may come in between.
 */
int shell_type_line(struct shell *s, struct str line)
{
	/* Only a real terminal handles the kill key at the start of the line. */
	if (!shell_is_tty_reachable(s) && str_starts(line, STR(SCRIPT_KILL_LINE)))
		line = str_skip(line, strlen(SCRIPT_KILL_LINE));
	while (line.n) {
		ssize_t n = write(s->master, line.p, line.n);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			line = str_skip(line, (size_t)n);
	}
	return 0;
}

static timer_fn shell_on_accept_timeout;

void shell_probe(struct timer *t)
{
	struct shell *s = container_of(t, struct shell, timer);

	s->probing = true;
	shell_arm(s, SHELL_ACCEPT_MS, shell_on_accept_timeout);
	if (shell_type_line(s, STR("\n")) < 0)
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
	if (!shell_is_foreground(s)) {
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

int shell_begin(struct shell *s, struct str tag)
{
	struct shell_record *rec = s->rec;

	assert(tag.n <= SHELL_TAG_MAX);
	if (tag.n)
		memcpy(rec->tag, tag.p, tag.n);
	rec->tag[tag.n] = '\0';
	rec->begun = shell_get_fed(s);
	rec->started = false;
	rec->typed_in = false;
	rec->text_done = false;
	s->cancelled = false;
	s->verdict = 0;
	rec->reports = 0;
	rec->oom_known = cgroup_oom_kills(s->setup.cgroup, &rec->oom_before) == 0;
	rec->oom_kills = 0;
	pty_reset_modes(s->master);
	shell_set_state(s, SHELL_RUNNING);
	return shell_watch(s);
}

/* Types the line of the command; r < 0: there is no line. */
static void shell_send_line(struct shell *s, int r)
{
	if (r == 0)
		r = s->line.err ? s->line.err : shell_type_line(s, buf_view(&s->line));
	loop_busy_poll(s->loop, SHELL_AWAKE_US);
	/* If the terminal takes no line, its shell is stuck. */
	shell_arm(s, r < 0 ? 1 : SHELL_ACCEPT_MS, shell_on_accept_timeout);
}

void shell_retype_line(struct shell *s)
{
	s->probing = false;
	shell_send_line(s, 0);
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
	r = shell_begin(s, tag);
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
	return r < 0 && (line->err || line->n > SHELL_LINE_MAX) ? r : line->err;
}

int shell_submit(struct shell *s, struct str command, struct str tag)
{
	int r;

	assert(s->rec->state == SHELL_IDLE);
	if (command.n > SHELL_COMMAND_MAX)
		return ERR_LIMIT;
	shell_store_command(s, command);
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
		shell_send_line(s, shell_begin(s, tag));
	else
		shell_remove_handover(s);
	return r;
}
