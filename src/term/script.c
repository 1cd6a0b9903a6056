#include "term/script.h"

/* Kills what may stand in the terminal's line: a key typed at the prompt. */
#define KILL_LINE SCRIPT_KILL_LINE

/*
 * Lines begin with a blank, which keeps them out of most histories. Builtins are
 * called as such, so that no alias or function of the user stands in between, and
 * inside a group whose stderr is closed where "set -x" may be on. Marks go to the
 * terminal itself, because a user may redirect the shell's output; but where the
 * shell shows its prompt on the terminal, that is a mark, which takes no descriptor
 * and little time. A prompt that a command has set, such as that of a Python
 * environment, is taken back.
 */
#define PREFIX "\\033]7777;@;"
#define TO_US "\001" /* a redirection, which script_setup fills in as it does "@" */
#define MARK_FIELDS \
	"\"$1\" \"$__od_id\" \"$2\" \"${!:-}\" \"${PWD-}\" \"${PATH-}\" " TO_US
#define MARK_FORMAT PREFIX "%s;%s;%s;%s;%s;@;%s;@\\007"
#define MARK_PRINTF "printf '" MARK_FORMAT "' " MARK_FIELDS
#define GIT_AND_ID "alias git='git --no-pager'; __od_id="

/* Notes $? even where no descriptor is left, so that there is no group then. */
#define HIDE_AND_NOTE "2>\"${__od_null#$((__od_status=$?))}\""

/*
 * __od_status is $? at the end of the command until a prompt has told it. Tracing
 * is off while our code runs; the text of a command turns it on again. A bash that
 * is told to edit its input may stop showing prompts, and one whose command ended
 * within quotes shows PS2 first. bash copies a function whenever it calls it, so
 * what is rare has functions of its own.
 */
static const char bash_setup[] = KILL_LINE
	" \\builtin set +o history +H; \\builtin unset PROMPT_COMMAND; "
	"__od_mark() { \\builtin printf '" MARK_FORMAT "' " MARK_FIELDS "; }; "
	"__od_start() { \\builtin printf '" PREFIX "s;%s;0;;;@;;@\\a' \"$1\"; }; "
	"__od_lead() { __od_id=$1 __od_status=; __od_start \"$1\" " TO_US " || "
	"{ [[ -t 1 ]] && __od_start \"$1\"; }; \\builtin return \"$2\"; }; "
	"__od_run() { [[ -z $__od_flags ]] || __od_retrace \"$2\"; "
	"__od_lead \"$1\" \"$2\"; }; "
	"__od_read() { IFS= \\builtin read -r -d '' __od_command <\"$1\" || \\builtin :; "
	"case $__od_command in '') __od_command='\\builtin echo "
	"\"The command could not be read.\" >&2; (\\builtin exit 126)'; esac; }; "
	"__od_quiet() { if [[ -o xtrace ]]; then \\builtin set +x; __od_flags+=x; fi; "
	"if [[ -o verbose ]]; then \\builtin set +v; __od_flags+=v; fi; }; "
	"__od_retrace() { case $- in *e*) \\builtin set 0; esac; "
	"__od_command=\"__od_traced $1 -$__od_flags 2>/dev/null\"$'\\n'$__od_command; "
	"__od_flags=; }; "
	"__od_traced() { \\builtin set \"$2\"; \\builtin return $1; }; "
	"__od_done() { [[ -o xtrace || -o verbose ]] && __od_quiet; "
	"[[ ! -o emacs && ! -o vi ]] && "
	"\\builtin test \"${PROMPT_COMMAND-}\" = \"$__od_hook\" || __od_text_done; }; "
	"__od_text_done() { __od_mark t \"$__od_status\"; __od_ours ''; }; "
	"__od_ended() { [[ -o xtrace || -o verbose ]] && __od_quiet; "
	"__od_told=${__od_status:-$1} __od_status=; }; "
	"__od_show() { __od_told=${__od_status:-$__od_told}; "
	"[[ $__od_told = 0 && -t 2 && ! -o emacs && ! -o vi ]] && "
	"__od_is \"$__od_prompt\" || __od_prepare; }; "
	"__od_is() { \\builtin test "
	"\"${PROMPT_COMMAND-},${PS1-},${PS2-}\" = \"$__od_hook,$1,\"; }; "
	"__od_ours() { __od_is \"$1\" || \\builtin export -n "
	"PROMPT_COMMAND=\"$__od_hook\" PS1=\"$1\" PS2= 2>/dev/null; }; "
	"__od_prepare() { if [[ -o emacs || -o vi ]]; then __od_ours ''; "
	"__od_mark e \"$__od_told\"; \\builtin return; fi; "
	"if [[ $__od_told = 0 && -t 2 ]]; then __od_ours \"$__od_prompt\"; "
	"__od_is \"$__od_prompt\" && \\builtin return; "
	"else __od_ours ''; fi; "
	"__od_mark p \"$__od_told\" || __od_ours \"$__od_prompt\"; }; "
	"__od_hook='{ __od_ended \"$?\"; } 2>/dev/null || \\builtin :; "
	"__od_show || \\builtin :'; "
	"__od_prompt='\\e]7777;@;p;$__od_id;$__od_told;${!:-};"
	"${PWD-};@;${PATH-};@\\a'; __od_null=/dev/null; "
	"__od_status= __od_flags= __od_told=0; __od_ours ''; \\builtin " GIT_AND_ID;

/*
 * What all others have in common. "prompt" is what their prompt is while it shows on
 * the terminal. Few of them can be made to call a builtin past a function of the
 * user.
 */
#define MARK_SETUP(mark) \
	"__od_mark() { " mark "; }; " \
	"__od_lead() { __od_id=$1 __od_status=; __od_mark s 0; return \"$2\"; }; " \
	"__od_done() { __od_mark t \"$__od_status\"; __od_status=; }; " \
	"__od_null=/dev/null; __od_status=; "
#define PROMPT_FIELDS(bang) \
	"p;$__od_id;${__od_status:-$?};${" bang ":-};${PWD-};@;${PATH-};@"

/* No mark can come from a hook here: the prompt itself is one. */
#define PROMPT_SETUP(mark, prompt) \
	MARK_SETUP(mark) \
	"__od_hidden='$({ __od_mark p \"$?\"; } 2>/dev/null)'; __od_prompt=" prompt "; " \
	"__od_show() { if [ -t 2 ]; then __od_ours \"$__od_prompt\"; " \
	"else __od_ours \"$__od_hidden\"; fi; }; " \
	"__od_ours() { [ \"${PS1-}\" = \"$1\" ] || PS1=$1; " \
	"[ -z \"${PS2-}\" ] || PS2=; }; __od_show; " GIT_AND_ID

static const char posix_setup[] = KILL_LINE " " PROMPT_SETUP("command " MARK_PRINTF,
	"$(printf '" PREFIX "')'" PROMPT_FIELDS("!") "'$(printf '\\007')");

/*
 * busybox asks its line editor for input, which gives up, and the shell with it,
 * when a job ends while the terminal does not echo. From a file, and be it the
 * terminal, it reads without; then it shows no prompt, but still expands it.
 */
static const char ash_setup[] =
	KILL_LINE " " PROMPT_SETUP("command " MARK_PRINTF, "$__od_hidden");

/* It has a builtin print, but not always a printf. "!" would be a number. */
#define MARK_PRINT \
	"builtin print -nr $'" PREFIX "'\"$1;$__od_id;$2;${!:-};${PWD-};@;${PATH-};@\"" \
	"$'\\a' " TO_US
static const char mksh_setup[] = KILL_LINE " set +o emacs +o gmacs +o vi; " PROMPT_SETUP(
	MARK_PRINT, "$'" PREFIX "''" PROMPT_FIELDS("!!") "'$'\\a'");

/*
 * "exit" has to end it, whatever runs in the background. The first line keeps the
 * "!" of the second from being expanded. zsh shows its prompt on the terminal
 * whatever is redirected, but without one on stderr. A theme sets it in a hook, so
 * ours has to be the last.
 */
static const char zsh_setup[] = KILL_LINE
	" builtin unsetopt zle prompt_cr prompt_sp bang_hist; "
	"builtin unsetopt check_running_jobs; "
	"builtin setopt interactive_comments\n " MARK_SETUP(
		"builtin " MARK_PRINTF) "__od_prompt=$'" PREFIX
					"''p;$__od_id;${__od_status:-$?};${!:-};"
					"${PWD//\\%/%%};@;${PATH//\\%/%%};@'$'\\a'; "
					"[[ -t 0 ]] || __od_prompt='$({ __od_mark p "
					"\"$__od_told\"; } 2>/dev/null)'; "
					"__od_show() { __od_told=${__od_status:-$?}; "
					"PS1=$__od_prompt PS2= RPS1= "
					"RPS2=; builtin unsetopt zle prompt_bang; "
					"builtin setopt prompt_subst prompt_percent; "
					"precmd_functions=(${precmd_functions:#__od_show}"
					" __od_show); }; "
					"precmd_functions=(); __od_show; " GIT_AND_ID;

/*
 * The condition gives the command its $? without tripping over "set -e". The
 * assignment before it is for bash too, whose parser takes the "if" for a plain
 * word if the text of the last eval ended within quotes; and where there is no
 * command in the variable, an older one must not be there.
 */
static const char bash_begin[] = KILL_LINE " __od_command=";
static const char bash_read_text[] = "; __od_read %s";
static const char bash_end_text[] =
	"; if __od_run %s %d; then \\builtin eval \"$__od_command\"; "
	"else \\builtin eval \"$__od_command\"; fi; "
	"{ __od_done; } " HIDE_AND_NOTE " || \\builtin :\n";

/*
 * What "." reads is not bound to one line. zsh and a command that was typed go by
 * eval: after C-z, zsh goes on with the rest of a "." in a process of its own.
 */
#define POSIX_END "{ __od_done; } " HIDE_AND_NOTE " || :; __od_show\n"
static const char posix_file_text[] = KILL_LINE
	" if { __od_lead %s %d; } 2>/dev/null; then . %s; else . %s; fi; " POSIX_END;
static const char eval_begin[] = KILL_LINE " __od_command=";
static const char eval_end_text[] =
	"; if { __od_lead %s %d; } 2>/dev/null; then eval \"$__od_command\"; "
	"else eval \"$__od_command\"; fi; " POSIX_END;

/*
 * Without a terminal busybox has to read with its line editor, and ignoreeof keeps
 * it going when that gives up; mksh would give jobs process groups of their own,
 * where no key finds them.
 */
static const char *const ash_on_socket[] = {"-i", "-I", NULL};
static const char *const mksh_on_socket[] = {"-i", "+m", "+o", "emacs", NULL};

const char *const *script_argv(enum shells_kind kind, bool clean, bool tty)
{
	static const char *const argv[][2][8] = {
		[SHELLS_POSIX] = {{"-i"}, {"-i"}},
		[SHELLS_BASH] = {{"--noediting", "-i"}, {"--norc", "--noediting", "-i"}},
		[SHELLS_ASH] = {{"-i", "/dev/tty"}, {"-i", "/dev/tty"}},
		[SHELLS_MKSH] = {{"-i", "+o", "emacs"}, {"-i", "+o", "emacs"}},
		[SHELLS_ZSH] = {{"-i", "+Z"}, {"-f", "-i", "+Z"}},
	};

	if (!tty && kind == SHELLS_ASH)
		return ash_on_socket;
	if (!tty && kind == SHELLS_MKSH)
		return mksh_on_socket;
	return argv[kind][clean];
}

static const char *const setups[] = {
	[SHELLS_POSIX] = posix_setup,
	[SHELLS_BASH] = bash_setup,
	[SHELLS_ASH] = ash_setup,
	[SHELLS_MKSH] = mksh_setup,
	[SHELLS_ZSH] = zsh_setup,
};

void script_setup(struct buf *out, enum shells_kind kind, bool tty, const char *nonce,
	const char *id)
{
	for (const char *p = setups[kind]; *p; p++) {
		if (*p == '@')
			buf_puts(out, nonce);
		else if (*p == TO_US[0])
			buf_puts(out, tty ? ">/dev/tty" : ">&0");
		else
			buf_putc(out, *p);
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
