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

/*
 * What all others have in common; "print" prints what stands between the parts of a
 * mark. Few shells can be made to call a builtin past a function of the user.
 */
#define MARK_FIELDS \
	"\"$1\" \"$__od_id\" \"$2\" \"${!:-}\" \"${PWD-}\" \"${PATH-}\" >/dev/tty; "
#define MARK_PRINTF(printf) \
	printf " '\\033]7777;@;%s;%s;%s;%s;%s;@;%s;@\\007' " MARK_FIELDS
#define MARK_SETUP(mark) \
	"__od_mark() { " mark "}; " \
	"__od_lead() { __od_id=$1; __od_mark s 0; return \"$2\"; }; "
#define ALIAS_AND_ID "alias git='git --no-pager'; __od_id="

/* No mark can come from a hook here: the prompt itself is one. */
#define PROMPT_SETUP(mark, prompt) \
	MARK_SETUP(mark "PS1=$__od_prompt PS2=; ") \
	"__od_prompt=" prompt "; PS1=$__od_prompt; PS2=; " ALIAS_AND_ID

static const char posix_setup[] = KILL_LINE " " PROMPT_SETUP(MARK_PRINTF("printf"),
	"$(printf '\\033]7777;@;p;$__od_id;$?;${!:-};${PWD-};@;${PATH-};@\\007')");

/*
 * busybox asks its line editor for input, which gives up, and the shell with it,
 * when a job ends while the terminal does not echo. From a file, and be it the
 * terminal, it reads without; then it shows no prompt, but still expands it.
 */
#define SILENT_PROMPT "'$({ __od_mark p \"$?\"; } 2>/dev/null)'"
static const char ash_setup[] =
	KILL_LINE " " PROMPT_SETUP(MARK_PRINTF("printf"), SILENT_PROMPT);

/*
 * It has a builtin print, but not always a printf. A "!" in the value of its prompt
 * would become a number, hence no values there.
 */
#define MARK_PRINT \
	"builtin print -nr " \
	"$'\\033]7777;@;'\"$1;$__od_id;$2;${!:-};${PWD-};@;${PATH-};@\"" \
	"$'\\a' >/dev/tty; "
static const char mksh_setup[] = KILL_LINE
	" set +o emacs +o gmacs +o vi; " PROMPT_SETUP(MARK_PRINT, SILENT_PROMPT);

/*
 * "exit" has to end it, whatever runs in the background. The first line keeps the
 * "!" of the second from being expanded. The last hook of
 * precmd comes when the user's have been called, and a theme sets prompts there.
 */
static const char zsh_setup[] = KILL_LINE
	" builtin unsetopt zle prompt_cr prompt_sp bang_hist; "
	"builtin unsetopt check_running_jobs; "
	"builtin setopt interactive_comments\n " MARK_SETUP(MARK_PRINTF(
		"builtin printf")) "__od_prompt() { { __od_mark p \"$?\"; } 2>/dev/null; "
				   "PS1= PS2= RPS1= RPS2=; builtin unsetopt zle; "
				   "precmd_functions=(${precmd_functions:#__od_prompt} "
				   "__od_prompt); }; "
				   "PS1= PS2= RPS1= RPS2= "
				   "precmd_functions+=(__od_prompt); " ALIAS_AND_ID;

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

/*
 * What "." reads is not bound to one line. zsh and a command that was typed go by
 * eval: after C-z, zsh goes on with the rest of a "." in a process of its own.
 */
static const char posix_file_text[] =
	KILL_LINE " if { __od_lead %s %d; } 2>/dev/null; then . %s; else . %s; fi; "
		  "{ __od_mark t \"$?\"; } 2>/dev/null\n";
static const char eval_begin[] = KILL_LINE " if { __od_command=";
static const char eval_end_text[] =
	"; __od_lead %s %d; } 2>/dev/null; then eval \"$__od_command\"; "
	"else eval \"$__od_command\"; fi; { __od_mark t \"$?\"; } 2>/dev/null\n";

const char *const *script_argv(enum shells_kind kind, bool clean)
{
	static const char *const argv[][2][8] = {
		[SHELLS_POSIX] = {{"-i"}, {"-i"}},
		[SHELLS_BASH] = {{"--noediting", "-i"}, {"--norc", "--noediting", "-i"}},
		[SHELLS_ASH] = {{"-i", "/dev/tty"}, {"-i", "/dev/tty"}},
		[SHELLS_MKSH] = {{"-i", "+o", "emacs"}, {"-i", "+o", "emacs"}},
		[SHELLS_ZSH] = {{"-i", "+Z"}, {"-f", "-i", "+Z"}},
	};

	return argv[kind][clean];
}

static const char *const setups[] = {
	[SHELLS_POSIX] = posix_setup,
	[SHELLS_BASH] = bash_setup,
	[SHELLS_ASH] = ash_setup,
	[SHELLS_MKSH] = mksh_setup,
	[SHELLS_ZSH] = zsh_setup,
};

void script_setup(
	struct buf *out, enum shells_kind kind, const char *nonce, const char *id)
{
	struct str rest = str_c(setups[kind]);

	while (rest.n) {
		struct str piece = str_cut(&rest, '@');

		buf_str(out, piece);
		if (rest.n)
			buf_puts(out, nonce);
	}
	buf_fmt(out, "%s\n", id);
}

bool script_reads_first(enum shells_kind kind)
{
	return kind == SHELLS_BASH || kind == SHELLS_ZSH;
}

bool script_can_type(enum shells_kind kind, struct str command)
{
	return script_reads_first(kind) && command.n > 0 &&
		command.n <= SHELL_TYPED_MAX && script_is_plain(command);
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

/* One word, and one line where the shell can: who takes a part of the input takes all. */
static void put_quoted(struct buf *out, enum shells_kind kind, struct str text)
{
	bool newline = kind != SHELLS_POSIX && kind != SHELLS_ASH;

	buf_putc(out, '\'');
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\n' && newline)
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
		put_quoted(out, SHELLS_BASH, command);
	buf_fmt(out, bash_end_text, id, status);
}

static void submit_eval(struct buf *out, enum shells_kind kind, struct str command,
	const char *path, const char *id, int status)
{
	buf_puts(out, eval_begin);
	if (path[0])
		buf_fmt(out, "$(<%s)", path);
	else
		put_quoted(out, kind, command);
	buf_fmt(out, eval_end_text, id, status);
}

void script_submit(struct buf *out, enum shells_kind kind, struct str command,
	const char *path, const char *id, int status)
{
	if (kind == SHELLS_BASH)
		submit_bash(out, command, path, id, status);
	else if (kind == SHELLS_ZSH || !path[0])
		submit_eval(out, kind, command, path, id, status);
	else
		buf_fmt(out, posix_file_text, id, status, path, path);
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
