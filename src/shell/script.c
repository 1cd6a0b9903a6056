#include "shell/script.h"

#include "codec/split.h"

/* Erases a key typed at the prompt, which may be in the terminal's line. */
#define KILL_LINE SCRIPT_KILL_LINE

/*
 * Lines begin with a blank, which keeps them out of most histories. Builtins are called
 * with "builtin" or "command", so that no alias or function of the user replaces them,
 * and inside a group whose stderr is closed where "set -x" may be on. Marks go to the
 * terminal itself, because a user may redirect the shell's output; but if the shell
 * shows its prompt on the terminal, the prompt is the mark, which takes no descriptor
 * and little time. A prompt that a command has set, such as the prompt of a Python
 * environment, is replaced again.
 */
#define PREFIX "\\033]7777;~;"
#define TO_US "\001" /* a redirection, which script_setup fills in as it does "~" */
#define MARK_FIELDS \
	"\"$1\" \"$__od_id\" \"$2\" \"${!:-}\" \"${PWD-}\" \"${PATH-}\" " TO_US
#define MARK_FORMAT PREFIX "%s;%s;%s;%s;%s;~;%s;~\\007"
#define MARK_PRINTF "printf \"" MARK_FORMAT "\" " MARK_FIELDS
#define GIT_AND_ID "alias git='git --no-pager'; __od_id="

/* Stores $? even if no descriptor is left, so that no group is used then. */
#define HIDE_AND_NOTE "2>\"${__od_null#$((__od_status=${__od_status:-$?}))}\""

#define TAIL \
	"{ __od_done \"$_\" \"${PIPESTATUS[@]}\"; } " \
	"2>&\"${__od_fd[__od_status=$?,36#0${-//[^xv]}]--}\""

/*
 * __od_status holds $? from the end of the command until a prompt has reported it.
 *
 * Tracing is off while our code runs; the text of a command turns it on again. Where
 * tracing may be on, stderr is closed. Where it is off, the redirection becomes "2>&2",
 * which does nothing and costs nothing: __od_fd holds only the value 2, at the index for
 * neither x nor v in $-.
 *
 * The tail follows the text within its eval, because eval leaves nothing of $_ and
 * PIPESTATUS behind, and runs the ERR trap once more. A command that interrupts or
 * breaks the tail leaves __od_status empty, and the hook works without it.
 *
 * bash copies a function whenever it calls it, so rare work has functions of its own.
 * Scripts that clean up may unset all of them: the hook, or the next line, defines them
 * again from __od_setup. A bash whose line editing is turned on may stop showing
 * prompts. A bash whose command ended within quotes shows PS2 first.
 *
 * If the shell expands the result of an expansion in PS1 (bash 4.4, zsh), PS1 only names
 * a variable that holds the mark: printing PS1 shows no nonce and no fields.
 */
static const char bash_setup[] =
	"\\builtin enable printf test read set declare export local 2>/dev/null; "
	"__od_mark() { \\builtin printf '" MARK_FORMAT "' " MARK_FIELDS "; }; "
	"__od_start() { \\builtin printf '" PREFIX "s;%s;0;;;~;;~\\a' \"$__od_id\"; }; "
	"__od_lead() { __od_ran=' '; [[ -z $__od_file ]] || __od_read; "
	"[[ -z $__od_flags ]] || __od_retrace \"$1\"; "
	"[[ -t 1 ]] && \\builtin printf '" PREFIX "s;%s;0;;;~;;~\\a' \"$__od_id\" || "
	"__od_far; \\builtin return \"$1\"; }; "
	"__od_far() { \\builtin enable printf; __od_start " TO_US " || \\builtin :; }; "
	"__od_read() { IFS= \\builtin read -r -d '' __od_command <\"$__od_file\" || "
	"\\builtin :; case $__od_command in '') __od_command='\\builtin echo "
	"\"The command could not be read.\" >&2; (\\builtin exit 126)'; esac; }; "
	"__od_quiet() { if [[ -o xtrace ]]; then \\builtin set +x; __od_flags+=x; fi; "
	"if [[ -o verbose ]]; then \\builtin set +v; __od_flags+=v; fi; }; "
	"__od_retrace() { case $- in *e*) \\builtin set 0; esac; "
	"__od_command=\"__od_traced $1 -$__od_flags 2>/dev/null\"$'\\n'$__od_command; "
	"[[ $__od_flags != *v* ]] || __od_inline; __od_flags=; }; "
	"__od_inline() { __od_text=$__od_command __od_tail=\"; $__od_end\" "
	"__od_command='\\builtin eval \"$__od_text\"'; }; "
	"__od_traced() { \\builtin set \"$2\"; \\builtin return $1; }; "
	"__od_done() { [[ -o xtrace || -o verbose ]] && __od_quiet; "
	"__od_err=2 __od_last=$1 __od_pipes=; [[ $# = 2 ]] || __od_piped \"$@\"; "
	"[[ ${PROMPT_COMMAND-} = \"$__od_hook\" && ! -o emacs && ! -o vi ]] || "
	"__od_text_done; }; "
	"__od_piped() { while [[ $# != 1 ]]; do \\builtin shift; "
	"__od_pipes+=\"${__od_pipes:+|}(\\builtin exit $1)\"; done; __od_pipes+=';'; }; "
	"__od_text_done() { __od_mark t \"$__od_status\"; __od_ours '' || \\builtin :; "
	"}; "
	"__od_ended() { [[ -o xtrace || -o verbose ]] && __od_quiet; "
	"__od_err=2 __od_pipes= __od_tail=$'\\n'$__od_end; "
	"[[ -z $__od_status ]] || \\builtin eval \"$__od_setup\"; }; "
	"__od_show() { __od_told=${__od_status:-$?}; [[ $__od_err = 2 ]] || __od_ended; "
	"__od_status=; [[ $__od_told$__od_open = 0 && -t 2 && ${PS1-} = \"$__od_ps1\" "
	"&& "
	"-z ${PS2-} && ! -o emacs && ! -o vi ]] || __od_prepare; }; "
	"__od_is() { [[ ${PROMPT_COMMAND-} = \"$__od_hook\" && ${PS1-} = \"$1\" && "
	"-z ${PS2-} ]]; }; "
	"__od_ours() { __od_is \"$1\" || \\builtin declare -g +ix "
	"PROMPT_COMMAND=\"$__od_hook\" PS1=\"$1\" PS2= 2>/dev/null || \\builtin export "
	"-n "
	"PROMPT_COMMAND=\"$__od_hook\" PS1=\"$1\" PS2= 2>/dev/null; }; "
	"__od_prepare() { if [[ -o emacs || -o vi ]]; then __od_ours ''; "
	"__od_mark e \"$__od_told\"; \\builtin return 0; fi; "
	"if [[ $__od_told$__od_open = 0 && -t 2 ]]; then __od_ours \"$__od_ps1\"; "
	"__od_is \"$__od_ps1\" && \\builtin return; "
	"else __od_ours ''; fi; "
	"__od_mark p \"$__od_told\" || { __od_ours \"$__od_ps1\"; "
	"__od_status=$__od_told; \\builtin return 1; }; }; "
	"__od_fd=(2); "
	"__od_end='" TAIL "' "
	"__od_hook='{ __od_show || \\builtin eval \"$__od_setup; __od_show\"; } "
	"2>&\"$__od_err\"' __od_nonce=~ "
	"__od_prompt='\\e]7777;$__od_nonce;p;$__od_id;${__od_told:-$?};${!:-};${PWD-};"
	"$__od_nonce;${PATH-};$__od_nonce\\a' __od_tail=$'\\n'$__od_end "
	"__od_ps1='${__od_prompt@P}'; "
	"[[ ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} > 43 ]] || __od_ps1=$__od_prompt; "
	"\\builtin alias git='git --no-pager'; "
	"case $__od_ran in '') __od_lead 0; \\builtin eval \"$__od_command\";; "
	"*) __od_ours '';; esac";

/* Aliases are off while the set-up is read, above all aliases of reserved words. */
static const char bash_setup_begin[] = KILL_LINE
	" __od_status=%s __od_ran=+ __od_told= __od_open= __od_err=2 __od_flags= "
	"__od_file= __od_last= __od_pipes= __od_id=%s; \\builtin history -d -1 "
	"2>/dev/null; \\builtin set +o history +H; "
	"\\builtin unset PROMPT_COMMAND; \\builtin shopt -u expand_aliases; __od_setup=";
static const char bash_setup_end[] =
	"; \\builtin eval \"$__od_setup\"; \\builtin shopt -s expand_aliases\n";

/*
 * The part that all other shells have in common. "prompt" is the value of their PS1
 * while it shows on the terminal. Few of these shells can be made to call a builtin past
 * a function of the user.
 */
#define MARK_SETUP(mark) \
	"__od_mark() { " mark "; }; " \
	"__od_lead() { __od_mark s 0; return \"$1\"; }; " \
	"__od_done() { __od_mark t \"$__od_status\" && __od_status=; }; " \
	"__od_null=/dev/null; "

/*
 * PS1 where it shows on the terminal. These shells expand it once. It names variables
 * only, so that "echo $PS1" prints no nonce and no control byte. __od_frame is a mark
 * without fields, which the terminal drops if a user prints the variable. PS1 is empty
 * in a process that inherits PS1 without __od_frame. No variable in it can be unset
 * with an error under "set -u".
 */
#define PROMPT_NAMES(bang) \
	"'${__od_frame:+${__od_frame%;;;*};p;${__od_id-};${__od_status:-$?};${" bang \
	":-};${PWD-};${__od_nonce-};${PATH-};${__od_frame#*;;;}}'"
#define FRAME PREFIX ";;~\\007"

/* These shells have no hook for a mark: the prompt itself is the mark. */
#define PROMPT_SETUP(mark, hidden, prompt) \
	MARK_SETUP(mark) \
	"__od_hidden='$({ " hidden "; } 2>/dev/null)'; __od_prompt=" prompt "; " \
	"__od_show() { if [ -t 2 ]; then __od_ours \"$__od_prompt\"; " \
	"else __od_ours \"$__od_hidden\"; fi; }; " \
	"__od_ours() { [ \"${PS1-}\" = \"$1\" ] || PS1=$1; " \
	"[ -z \"${PS2-}\" ] || PS2=; }; __od_show; " GIT_AND_ID

/* This text calls none of our functions: they may have been unset. */
#define MARK_HIDDEN \
	"set -- p \"${__od_status:-$?}\"; command printf " \
	"\"${__od_format-}\" " MARK_FIELDS
#define FORMAT_SETUP "__od_format='" MARK_FORMAT "'; "
static const char posix_setup[] = FORMAT_SETUP
	"__od_nonce=~ __od_frame=$(printf '" FRAME
	"'); " PROMPT_SETUP("command " MARK_PRINTF, MARK_HIDDEN, PROMPT_NAMES("!"));

/*
 * busybox reads descriptor 0 with its line editor. While the terminal does not echo,
 * the editor calls fgets, which the SIGCHLD of a job that ends interrupts, and busybox
 * takes that for the end of its input. It reads any other descriptor without the
 * editor, so that it is given a file to open, the terminal. Then it shows no prompt,
 * but still expands it.
 */
static const char ash_setup[] =
	FORMAT_SETUP PROMPT_SETUP("command " MARK_PRINTF, MARK_HIDDEN, "$__od_hidden");

/* mksh has a builtin print, but not always a printf. "!" would be a number. */
#define MARK_PRINT \
	"builtin print -nr $'" PREFIX "'\"$1;$__od_id;$2;${!:-};${PWD-};~;${PATH-};~\"" \
	"$'\\a' " TO_US
static const char mksh_setup[] =
	"set +o emacs +o gmacs +o vi; "
	"__od_nonce=~ __od_frame=$'" FRAME
	"'; " PROMPT_SETUP(MARK_PRINT, "__od_mark p \"$?\"", PROMPT_NAMES("!!"));

/*
 * "exit" has to end zsh, whatever runs in the background. The first line keeps the "!"
 * of the second from being expanded. zsh shows its prompt on the terminal whatever is
 * redirected, but shows none on stderr without a terminal. A theme sets the prompt in a
 * hook, so our hook has to be the last.
 */
static const char zsh_setup[] =
	"builtin unsetopt zle prompt_cr prompt_sp bang_hist; "
	"builtin unsetopt check_running_jobs; "
	"builtin setopt interactive_comments\n " MARK_SETUP(
		"builtin " MARK_PRINTF) "__od_prompt=$'" PREFIX
					"''p;$__od_id;${__od_status:-$?};${!:-};"
					"${PWD//\\%/%%};~;${PATH//\\%/%%};~'$'\\a'; "
					"[[ -t 0 ]] || __od_prompt='$({ __od_mark p "
					"\"$__od_told\"; } 2>/dev/null)'; "
					"__od_show() { __od_told=${__od_status:-$?}; "
					"PS1='${(e)__od_prompt}' PS2= RPS1= "
					"RPS2=; builtin unsetopt zle prompt_bang; "
					"builtin setopt prompt_subst prompt_percent; "
					"precmd_functions=(${precmd_functions:#__od_show}"
					" __od_show); }; "
					"precmd_functions=(); __od_pipes=(:); "
					"__od_show; " GIT_AND_ID;

/*
 * The line has no reserved word, because a reserved word may be an alias. __od_lead
 * returns $? of the command before; "||" keeps that status from ending a shell under
 * "set -e". If __od_lead is not defined, the evaluated text defines it and runs the
 * command.
 *
 * The assignments come first also because bash's parser takes the next word for a plain
 * word if the text of the last eval ended within quotes.
 */
static const char bash_begin[] =
	KILL_LINE " __od_id=%s __od_ran= __od_status= __od_told= __od_open= __od_err=- "
		  "__od_file=%s "
		  "__od_command=";
static const char bash_end_text[] =
	"; \\__od_lead %d \"$__od_last\" %s "
	"\\builtin eval \"${__od_ran:-$__od_setup}${__od_ran:+%s$__od_command%s}\"%s\n";

/*
 * A file that "." reads may have more than one line. zsh, and any command that was
 * typed, use eval instead: after C-z, zsh runs the rest of a "." file in a process of
 * its own.
 */
#define POSIX_END "{ __od_done; } " HIDE_AND_NOTE " || :; __od_show\n"
static const char posix_begin[] = KILL_LINE " __od_id=%s __od_status=";
static const char posix_file_text[] =
	"; if { __od_lead %d; } 2>/dev/null; then . %s; else . %s; fi; " POSIX_END;
static const char posix_eval_text[] =
	"; if { __od_lead %d; } 2>/dev/null; then eval \"$__od_command\"; "
	"else eval \"$__od_command\"; fi; " POSIX_END;

/* This line has no reserved word either; eval leaves no pipestatus here either. */
static const char zsh_text[] = "; { \\__od_lead %d; } 2>/dev/null %s \\builtin eval "
			       "%s\"$__od_command\"%s; " POSIX_END;
#define ZSH_TAIL \
	"$'\\n{ __od_status=$? __od_pipes=(\"(exit \"$^pipestatus\")\"); } 2>/dev/null'"

/*
 * Without a terminal busybox has to read with its line editor, and ignoreeof keeps it
 * going when the editor gives up. mksh looks for a terminal at /dev/tty and would give
 * jobs process groups of their own, which receive no signal for a key.
 */
static const char *const ash_on_socket[] = {"-i", "-I", NULL};
static const char *const mksh_on_socket[] = {"-i", "+m", "+o", "emacs", NULL};

/* Only the owner of a terminal can open it by this path. */
static const char *const ash_by_fd[] = {"-i", "/proc/self/fd/0", NULL};

const char *const *script_argv(enum shells_kind kind, bool clean, bool tty, bool dev_tty)
{
	static const char *const argv[][2][8] = {
		[SHELLS_POSIX] = {{"-i"}, {"-i"}},
		[SHELLS_BASH] = {{"--noediting", "-i"}, {"--norc", "--noediting", "-i"}},
		/*
		 * This is used if there is no folder for a better name; see
		 * tty_folder.h.
		 */
		[SHELLS_ASH] = {{"-i", "/dev/tty"}, {"-i", "/dev/tty"}},
		[SHELLS_MKSH] = {{"-i", "+o", "emacs"}, {"-i", "+o", "emacs"}},
		[SHELLS_ZSH] = {{"-i", "+Z"}, {"-f", "-i", "+Z"}},
	};

	if (!tty && kind == SHELLS_ASH)
		return ash_on_socket;
	if (!dev_tty && kind == SHELLS_ASH)
		return ash_by_fd;
	if (!(tty && dev_tty) && kind == SHELLS_MKSH)
		return mksh_on_socket;
	return argv[kind][clean];
}

static const char *const setups[] = {
	[SHELLS_BASH] = bash_setup,
	[SHELLS_POSIX] = posix_setup,
	[SHELLS_ASH] = ash_setup,
	[SHELLS_MKSH] = mksh_setup,
	[SHELLS_ZSH] = zsh_setup,
};

static void script_put_setup_text(
	struct buf *out, enum shells_kind kind, bool tty, const char *nonce)
{
	const char *quote = kind == SHELLS_BASH ? "'\\''" : "'";

	for (const char *p = setups[kind]; *p; p++) {
		if (*p == '~')
			buf_puts(out, nonce);
		else if (*p == TO_US[0])
			buf_puts(out, tty ? ">/dev/tty" : ">&0");
		else if (*p == '\'')
			buf_puts(out, quote);
		else
			buf_putc(out, *p);
	}
}

/* first runs before the rest; the prompt reports status as $? of the last command. */
static void script_put_setup_line(struct buf *out, enum shells_kind kind, bool tty,
	const char *nonce, const char *id, const char *first, const char *status)
{
	if (kind == SHELLS_BASH) {
		buf_fmt(out, bash_setup_begin, status, id);
		buf_putc(out, '\'');
		script_put_setup_text(out, kind, tty, nonce);
		buf_fmt(out, "'%s", bash_setup_end);
	} else {
		buf_fmt(out, KILL_LINE " %s__od_status=%s; ", first, status);
		script_put_setup_text(out, kind, tty, nonce);
		buf_fmt(out, "%s\n", id);
	}
}

/* As in spawn, "/" takes the place of a directory that cannot be entered. */
static const char leave_folder[] =
	"[ -x \"$OLDPWD\" ] && command cd -P -- \"$OLDPWD\" || command cd /; "
	"unset OLDPWD; ";

void script_setup(struct buf *out, enum shells_kind kind, bool tty, bool in_folder,
	const char *nonce, const char *id)
{
	script_put_setup_line(out, kind, tty, nonce, id, in_folder ? leave_folder : "",
		kind == SHELLS_BASH ? "0" : "");
}

void script_setup_restore(struct buf *out, enum shells_kind kind, bool tty,
	const char *nonce, const char *id)
{
	script_put_setup_line(out, kind, tty, nonce, id, "", "$?");
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

/*
 * Quotes text as one word. Except for POSIX sh and ash, the word is also one line, with
 * $'\n' for each line end, so that a reader of the terminal gets all of it or nothing.
 */
static void script_put_quoted(struct buf *out, enum shells_kind kind, struct str text)
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

/*
 * Whether a line may follow the text: the line must not become a part of the text, and
 * the shell must not show it ("set -v" shows what the shell reads from then on).
 */
static bool script_is_tail_allowed(struct str command)
{
	return split_is_complete(command) &&
		str_find(command, STR("set -v")) == command.n &&
		str_find(command, STR("verbose")) == command.n;
}

static void script_submit_bash(
	struct buf *out, struct str command, const char *path, const char *id, int status)
{
	bool tail = script_is_tail_allowed(command);
	/* Setting PIPESTATUS again costs a process for each part of the last pipeline. */
	bool pipes = str_find(command, STR("PIPESTATUS")) < command.n;

	buf_fmt(out, bash_begin, id, path);
	if (!path[0])
		script_put_quoted(out, SHELLS_BASH, command);
	buf_fmt(out, bash_end_text, status, status ? "||" : ";",
		pipes ? "$__od_pipes" : "", tail ? "$__od_tail" : "",
		tail ? "" : "$'\\n'; " TAIL "; __od_open=-");
}

static void script_submit_zsh(
	struct buf *out, struct str command, const char *path, const char *id, int status)
{
	bool pipes = str_find(command, STR("pipestatus")) < command.n;

	buf_fmt(out, posix_begin, id);
	buf_puts(out, " __od_command=");
	if (path[0])
		buf_fmt(out, "$(<%s)", path);
	else
		script_put_quoted(out, SHELLS_ZSH, command);
	buf_fmt(out, zsh_text, status, status ? "||" : ";",
		pipes ? "\"${(j:|:)__od_pipes};\"" : "",
		script_is_tail_allowed(command) ? ZSH_TAIL : "");
}

static void script_submit_posix(struct buf *out, enum shells_kind kind,
	struct str command, const char *path, const char *id, int status)
{
	buf_fmt(out, posix_begin, id);
	if (path[0]) {
		buf_fmt(out, posix_file_text, status, path, path);
		return;
	}
	buf_puts(out, " __od_command=");
	script_put_quoted(out, kind, command);
	buf_fmt(out, posix_eval_text, status);
}

void script_submit(struct buf *out, enum shells_kind kind, struct str command,
	const char *path, const char *id, int status)
{
	if (kind == SHELLS_BASH)
		script_submit_bash(out, command, path, id, status);
	else if (kind == SHELLS_ZSH)
		script_submit_zsh(out, command, path, id, status);
	else
		script_submit_posix(out, kind, command, path, id, status);
}

void script_put_lead(struct buf *out, enum shells_kind kind, const char *id, int status)
{
	if (kind == SHELLS_BASH)
		buf_fmt(out, bash_begin, id, "");
	else
		buf_fmt(out, posix_begin, id);
	/* A shell under "set -e" would end with any other status than 0. */
	buf_fmt(out,
		"; case $- in *e*) __od_lead 0;; *) __od_lead %d; esac 2>/dev/null\n",
		status);
}
