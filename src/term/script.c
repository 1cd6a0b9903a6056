#include "term/script.h"

/* Kills what may stand in the terminal's line: a key typed at the prompt. */
#define KILL_LINE "\025"

/*
 * Lines begin with a blank, which keeps them out of most histories. Builtins
 * are called as such, so that no alias or function of the user stands in
 * between, and inside a group whose stderr is closed, so that "set -x" shows
 * only the user's own commands. Marks go to the terminal itself, because a user
 * may redirect the shell's output.
 */
static const char bash_setup[] =
	KILL_LINE " \\builtin set +o history +H; \\builtin unset PROMPT_COMMAND; "
		  "__od_mark() { \\builtin printf "
		  "'\\033]7777;@;%s;%s;%s;%s;%s;@;%s;@\\a' "
		  "\"$1\" \"$__od_id\" \"$2\" \"${!:-}\" \"$PWD\" \"$PATH\" "
		  ">/dev/tty; }; "
		  "__od_run() { "
		  "IFS= \\builtin read -r -d '' __od_command <\"$1\" || \\builtin :; "
		  "PROMPT_COMMAND=$__od_prompt PS1= PS2=; "
		  "__od_id=$2; __od_mark s 0; \\builtin return \"$3\"; }; "
		  "__od_prompt='{ __od_mark p $?; } 2>/dev/null'; "
		  "PROMPT_COMMAND=$__od_prompt; PS1= PS2=; "
		  "\\builtin alias git='git --no-pager'; __od_id=";

/* No mark can come from a hook here; the prompt itself is one. */
static const char posix_setup[] =
	KILL_LINE " __od_mark() { printf "
		  "'\\033]7777;@;%s;%s;%s;%s;%s;@;%s;@\\007' "
		  "\"$1\" \"$__od_id\" \"$2\" \"${!:-}\" \"$PWD\" \"$PATH\" "
		  ">/dev/tty; }; "
		  "__od_run() { PS1=$__od_prompt PS2=; "
		  "__od_id=$1; __od_mark s 0; return \"$2\"; }; "
		  "__od_prompt=$(printf "
		  "'\\033]7777;@;p;$__od_id;$?;${!:-};$PWD;@;$PATH;@\\007'); "
		  "PS1=$__od_prompt; PS2=; alias git='git --no-pager'; __od_id=";

/* The condition gives the command its $? without tripping over "set -e". */
static const char bash_submit_text[] =
	KILL_LINE " if { __od_run %s %s %d; } 2>/dev/null; "
		  "then \\builtin eval \"$__od_command\"; "
		  "else \\builtin eval \"$__od_command\"; fi; "
		  "{ __od_mark t $?; } 2>/dev/null\n";
static const char posix_submit_text[] =
	KILL_LINE " if { __od_run %s %d; } 2>/dev/null; then . %s; else . %s; fi; "
		  "{ __od_mark t $?; } 2>/dev/null\n";

const char *const *script_argv(enum shells_kind kind, bool clean)
{
	static const char *const bash[] = {"--noediting", "-i", NULL};
	static const char *const bash_clean[] = {"--norc", "--noediting", "-i", NULL};
	static const char *const posix[] = {"-i", NULL};

	if (kind != SHELLS_BASH)
		return posix;
	return clean ? bash_clean : bash;
}

void script_setup(
	struct buf *out, enum shells_kind kind, const char *nonce, const char *id)
{
	struct str rest = str_c(kind == SHELLS_BASH ? bash_setup : posix_setup);

	while (rest.n) {
		struct str piece = str_cut(&rest, '@');

		buf_str(out, piece);
		if (rest.n)
			buf_puts(out, nonce);
	}
	buf_fmt(out, "%s\n", id);
}

void script_submit(struct buf *out, enum shells_kind kind, const char *path,
	const char *id, int status)
{
	if (kind == SHELLS_BASH)
		buf_fmt(out, bash_submit_text, path, id, status);
	else
		buf_fmt(out, posix_submit_text, id, status, path, path);
}
