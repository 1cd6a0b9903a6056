#include "term/script.h"

/* Kills what may stand in the terminal's line: a key typed at the prompt. */
#define KILL_LINE "\025"

/*
 * Lines begin with a blank, which keeps them out of most histories. Builtins
 * are called as such, so that no alias or function of the user stands in
 * between, and inside a group whose stderr is closed, so that "set -x" shows
 * only the user's own commands. Marks go to the terminal itself, because a user
 * may redirect the shell's output. Each of them takes the prompt back that a
 * command may have set, such as that of a Python environment; export does it
 * without an end of the line where the variable is readonly. __od_status is $?
 * at the end of the command, for a prompt that comes behind our own code. A bash
 * that is told to edit its input may stop showing prompts.
 */
static const char bash_setup[] = KILL_LINE
	" \\builtin set +o history +H; \\builtin unset PROMPT_COMMAND; "
	"__od_mark() { \\builtin printf "
	"'\\033]7777;@;%s;%s;%s;%s;%s;@;%s;@\\a' "
	"\"$1\" \"$__od_id\" \"$2\" \"${!:-}\" \"${PWD-}\" \"${PATH-}\" "
	">/dev/tty; __od_ours; }; "
	"__od_ours() { \\builtin export -n "
	"PROMPT_COMMAND=\"$__od_prompt\" PS1= PS2=; }; "
	"__od_read() { "
	"IFS= \\builtin read -r -d '' __od_command <\"$1\" || \\builtin :; "
	"case $__od_command in '') __od_command='\\builtin echo "
	"\"The command could not be read.\" >&2; (\\builtin exit 126)'; esac; }; "
	"__od_run() { case $- in *x*) __od_untraced \"$2\"; esac; "
	"__od_lead \"$1\" \"$2\"; }; "
	"__od_lead() { __od_id=$1 __od_status=; "
	"\\builtin printf '\\033]7777;@;s;%s;0;;;@;;@\\a' \"$1\" >/dev/tty; "
	"\\builtin return \"$2\"; }; "
	"__od_done() { __od_status=$1; case $SHELLOPTS,${PROMPT_COMMAND-} in "
	"*emacs*|*:vi*) __od_mark t \"$1\";; *,\"$__od_prompt\") ;; "
	"*) __od_mark t \"$1\"; esac; }; "
	"__od_untraced() { \\builtin set +x; "
	"case $- in *e*) \\builtin set 0; esac; "
	"__od_command=\"__od_traced $1 2>/dev/null\"$'\\n'$__od_command; }; "
	"__od_traced() { \\builtin set -x; \\builtin return $1; }; "
	"__od_prompt='{ __od_told=${__od_status:-$?} __od_status=; case $SHELLOPTS in "
	"*emacs*|*:vi*) __od_mark e \"$__od_told\";; "
	"*) __od_mark p \"$__od_told\"; esac; } 2>/dev/null'; "
	"__od_status=; __od_ours; "
	"\\builtin alias git='git --no-pager'; __od_id=";

/* No mark can come from a hook here. */
#define POSIX_SETUP(prompt) \
	KILL_LINE " __od_mark() { printf " \
		  "'\\033]7777;@;%s;%s;%s;%s;%s;@;%s;@\\007' " \
		  "\"$1\" \"$__od_id\" \"$2\" \"${!:-}\" \"${PWD-}\" \"${PATH-}\" " \
		  ">/dev/tty; PS1=$__od_prompt PS2=; }; " \
		  "__od_lead() { " \
		  "__od_id=$1; __od_mark s 0; return \"$2\"; }; " \
		  "__od_prompt=" prompt "; " \
		  "PS1=$__od_prompt; PS2=; alias git='git --no-pager'; __od_id="

/* The prompt itself is a mark. */
static const char posix_setup[] =
	POSIX_SETUP("$(printf "
		    "'\\033]7777;@;p;$__od_id;$?;${!:-};${PWD-};@;${PATH-};@\\007')");

/*
 * busybox asks its line editor for input, which gives up, and the shell with it,
 * when a job ends while the terminal does not echo. From a file, and be it the
 * terminal, it reads without; then it shows no prompt, but still expands it.
 */
static const char ash_setup[] = POSIX_SETUP("'$({ __od_mark p \"$?\"; } 2>/dev/null)'");

/*
 * The condition gives the command its $? without tripping over "set -e". Where
 * "set -x" is on, the command itself turns it on again, so that eval stays out
 * of the trace. The empty line is for bash, whose parser takes the "if" for a
 * plain word if the text of the last eval ended within quotes.
 */
static const char bash_begin[] = KILL_LINE "\n if { __od_command=";
static const char bash_read_text[] = "; __od_read %s";
static const char bash_end_text[] = "; __od_run %s %d; } 2>/dev/null; "
				    "then \\builtin eval \"$__od_command\"; "
				    "else \\builtin eval \"$__od_command\"; fi; "
				    "{ __od_done \"$?\"; } 2>/dev/null\n";
static const char posix_submit_text[] =
	KILL_LINE " if { __od_lead %s %d; } 2>/dev/null; then . %s; else . %s; fi; "
		  "{ __od_mark t \"$?\"; } 2>/dev/null\n";

const char *const *script_argv(enum shells_kind kind, bool clean)
{
	static const char *const bash[] = {"--noediting", "-i", NULL};
	static const char *const bash_clean[] = {"--norc", "--noediting", "-i", NULL};
	static const char *const ash[] = {"-i", "/dev/tty", NULL};
	static const char *const posix[] = {"-i", NULL};

	if (kind == SHELLS_BASH)
		return clean ? bash_clean : bash;
	return kind == SHELLS_ASH ? ash : posix;
}

static const char *setup_of(enum shells_kind kind)
{
	if (kind == SHELLS_BASH)
		return bash_setup;
	return kind == SHELLS_ASH ? ash_setup : posix_setup;
}

void script_setup(
	struct buf *out, enum shells_kind kind, const char *nonce, const char *id)
{
	struct str rest = str_c(setup_of(kind));

	while (rest.n) {
		struct str piece = str_cut(&rest, '@');

		buf_str(out, piece);
		if (rest.n)
			buf_puts(out, nonce);
	}
	buf_fmt(out, "%s\n", id);
}

bool script_can_type(enum shells_kind kind, struct str command)
{
	return kind == SHELLS_BASH && command.n > 0 && command.n <= SHELL_TYPED_MAX &&
		script_is_plain(command);
}

bool script_is_plain(struct str command)
{
	for (size_t i = 0; i < command.n; i++) {
		char c = command.p[i];

		if ((unsigned char)c < ' ' ? c != '\n' && c != '\t' : c == 0x7f)
			return false;
	}
	return true;
}

/* One word of bash on one line: who takes a part of the input takes all of it. */
static void put_quoted(struct buf *out, struct str text)
{
	buf_putc(out, '\'');
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\n')
			buf_puts(out, "'$'\\n''");
		else if (text.p[i] == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, text.p[i]);
	}
	buf_putc(out, '\'');
}

static void submit_bash(
	struct buf *out, struct str command, const char *path, const char *id, int status)
{
	buf_puts(out, bash_begin);
	if (path[0])
		buf_fmt(out, bash_read_text, path);
	else
		put_quoted(out, command);
	buf_fmt(out, bash_end_text, id, status);
}

void script_submit(struct buf *out, enum shells_kind kind, struct str command,
	const char *path, const char *id, int status)
{
	if (kind == SHELLS_BASH)
		submit_bash(out, command, path, id, status);
	else
		buf_fmt(out, posix_submit_text, id, status, path, path);
}

/* A shell under "set -e" would not survive another status than 0. */
void script_lead(struct buf *out, const char *id, int status)
{
	buf_fmt(out,
		KILL_LINE " case $- in *e*) __od_lead %s 0;; *) __od_lead %s %d; "
			  "esac 2>/dev/null\n",
		id, id, status);
}

void script_probe(struct buf *out)
{
	buf_puts(out, KILL_LINE " { __od_mark p \"$?\"; } 2>/dev/null\n");
}
