#!/bin/sh
# The gates can fail: a small tree with one sin per rule, and what each tool says.
tools=$OD_SOURCE/tools
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/tools" "$tmp/src/base" "$tmp/src/net" "$tmp/src/codec" "$tmp/src/fs" "$tmp/inject/image"
cp "$tools/lint" "$tools/layers" "$tools/linkgate" "$tools/size" "$tmp/tools/"
cp "$OD_SOURCE/.clang-format" "$tmp/"
cd "$tmp" || exit 1

n=0
says() { # NAME COMMAND WORDS: the command fails and says the words
	n=$((n + 1))
	if $2 >out 2>&1; then
		echo "not ok $n - $1: it does not fail"
	elif grep -q -e "$3" out; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed 's/^/# /' out
	fi
}
passes() { # NAME COMMAND
	n=$((n + 1))
	if $2 >out 2>&1; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed 's/^/# /' out
	fi
}
file() { # PATH, text from stdin
	rm -f src/*.c src/*/*.c src/*/*.h inject/*.c inject/*/*.c
	cat >"$1"
}
sin() { # NAME WORDS STATEMENT: the statement in a file of src/net
	printf 'int f(char *p, int n)\n{\n\t%s\n\treturn n + p[0];\n}\n' "$3" |
		file src/net/a.c
	says "lint: $1" tools/lint "src/net/a.c:3: $2"
}

file src/net/a.c <<END
#include "base/buf.h"
#include "limits.h"
#include "net/b.h"
#include <string.h>
END
passes "layers: below and beside" tools/layers
echo '#include "fs/read.h"' | file src/net/a.c
says "layers: beside" tools/layers "src/net/a.c:1: .*'net' may include base, loop, codec"
echo '#include "loop/loop.h"' | file src/codec/a.c
says "layers: codec uses base alone" tools/layers "src/codec/a.c:1: .*'codec' may include base$"
echo '#include "codec/archive/tar.h"' | file src/net/a.c
passes "layers: a folder of a room" tools/layers
echo '#include "codec/http/http.h"' | file src/base/a.c
says "layers: above" tools/layers "src/base/a.c:1: .*only itself"
echo '#include "fs/tree.h"' | file inject/image/a.c
passes "layers: a single header" tools/layers
echo '#include "fs/read.h"' | file inject/image/a.c
says "layers: another header of that folder" tools/layers "inject/image/a.c:1"
echo '#include "tests/tap.h"' | file src/net/a.c
says "layers: a test's header" tools/layers "know nothing of the tests"
mkdir src/odd
: | file src/net/a.c
echo '#include "base/buf.h"' >src/odd/a.c
says "layers: a folder without a row" tools/layers "'odd' has no row"
rm -r src/odd

file src/net/a.c <<'END'
/* strcpy(a, b) in a comment, and "system(x)" in a string, are no calls. */
static int read_all(struct reader *r, int n)
{
	r->open(n);
	return reopen("system(x)") + n;
}
END
passes "lint: nothing wrong" tools/lint
sin strcpy "strcpy: " 'strcpy(p, "a");'
sin open "open: " 'n = open(p, n);'
sin fork "fork: " 'n = fork();'
sin rand "rand: " 'n = rand();'
sin time "time: " 'n = (int)time(NULL);'
sin "the time of day" "clock_unix_s: " 'n = (int)clock_unix_s();'
sin sleep "sleep: " 'sleep(n);'
sin "a poll of no descriptors" "poll of no descriptors" 'poll(NULL, 0, n);'
sin "a ppoll of no descriptors" "poll of no descriptors" 'ppoll(0, 0, NULL, NULL);'
sin "a poll of none of them" "poll of no descriptors" 'poll((void *)p, 0, n);'
sin "a pause where there is an event" "pause_until: " 'pause_until((unsigned)n);'
printf 'int f(void *p, int n)\n{\n\treturn poll(p, 1, n);\n}\n' | file src/net/a.c
passes "lint: a poll of a descriptor" tools/lint
sin malloc "malloc: " 'p = malloc(n);'
sin "calloc outside ..._new" "calloc: " 'p = calloc(1, n);'
sin exit "exit: " 'exit(n);'
sin "a third label" "the only labels" 'goto again;'
sin typedef "typedefs" 'typedef struct a a;'
sin "a value encoded by hand" "buf_percent: " 'buf_percent(p, n, "");'
sin "a target made by printf" "a target is built by target_add" \
	'snprintf(p, n, "/containers/%s/json", p);'
sin "a target made in pieces" "a target is built by target_add" 'buf_puts(p, "/v2/");'
sin "a target that is no literal" "a target is made by TARGET" 'g(&(struct target){.text = p});'
sin "a request line" "the head of a request is written by codec/http/request_head" 'buf_fmt(p, "GET %s HTTP/1.1\r\n", p);'
printf 'int f(void)\n{\n\treturn 1;\n}\n' | file src/net/a.c
printf 'static int f(void)\n{\n\treturn 2;\n}\n' >src/net/b.c
says "lint: a function's name twice" tools/lint "src/net/b.c:2: f is the name of a function in src/net/a.c, too"
printf 'int f(void)\n{\n\treturn out_fail(\n\t\tNULL, "x");\n}\n' | file inject/a.c
says "lint: an error without a next step" tools/lint "inject/a.c:3: an error without a next step"
value() { # NAME WORDS STATEMENT: a value of an engine in a function of inject
	printf 'int f(char *p, int n)\n{\n\tstruct str s = json_doc_str(p, n);\n\n\t%s\n\treturn n;\n}\n' \
		"$3" | file inject/a.c
	if [ "$2" ]; then
		says "lint: $1" tools/lint "inject/a.c:[0-9]*: $2"
	else
		passes "lint: $1" tools/lint
	fi
}
value "a value in a path" "f reads a value and uses a path" 'n = fd_open(s.p, 0, 0);'
value "a value in a removal" "f reads a value and uses a path" 'unlinkat(n, s.p, 0);'
value "a value straight in a text" "a value goes straight into a text" \
	'buf_fmt(p, "%%s", json_doc_str(p, n));'
value "a value in a target" "a value goes straight into a text" \
	'target_add(p, "/x/%%.*s", STR_ARG(json_doc_str(p, n)));'
value "a value whose form was checked" "" 'n = state_is_name(s) ? fd_open(s.p, 0, 0) : -1;'
value "a value that is printed" "" 'out_note("%%.*s", STR_ARG(s));'
rm -f inject/a.c
sin "unfinished work" "TODO" '/* TODO */'
sin "the workplace" "/work/main" '/* see /work/main/x */'
sin "a long line" "[0-9]* columns" "$(printf 'n = %090d;' 1)"
sin "the layout" "here and below: run clang-format" 'n =  1;'
{
	printf 'int f(int n)\n{\n'
	for i in 1 2 3 4 5 6 7 8; do
		printf '\tn++;\n\tn++;\n\tn++;\n\tn++;\n\tn++;\n\tn++;\n\tn++;\n\tn++;\n\tn++;\n\tn++;\n'
	done
	printf '\treturn n;\n}\n'
} | file src/net/a.c
says "lint: a long function" tools/lint "src/net/a.c:2: f has 81 lines"
awk 'BEGIN { for (i = 0; i < 300; i++) print "int a" i ";\n" }' | file src/net/a.c
says "lint: a long file" tools/lint "600 lines, 599 at most"

# The link gate, on a program that gcc makes by default.
: | file src/net/a.c
mkdir -p release/obj/src
cat >a.c <<'END'
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	return argc > 1 ? system(strcpy(argv[0], argv[1])) : 0;
}
END
gcc -w -O0 -fno-builtin -c -o release/obj/src/main.o a.c
ar qc release/lib.a release/obj/src/main.o
ar qc release/inject.a
gcc -no-pie -o release/a release/obj/src/main.o -Wl,-z,execstack,-z,lazy \
	-Wl,-Map=release/a.map 2>/dev/null
cp release/a a
gate="tools/linkgate a release"
says "linkgate: a loader" "$gate" "INTERP"
says "linkgate: a shared library" "$gate" "needs a shared library"
says "linkgate: a fixed address" "$gate" "position-independent"
says "linkgate: late binding" "$gate" "BIND_NOW"
says "linkgate: an executable stack" "$gate" "executable stack"
says "linkgate: symbols" "$gate" "not stripped"
says "linkgate: system" "$gate" "our code calls system"
says "linkgate: strcpy" "$gate" "our code calls strcpy"
echo 'char *f(char *p) { return strcat(p, p); }' >b.c
gcc -w -O0 -fno-builtin -c -o release/obj/src/plugins_main.o b.c
says "linkgate: a call in the main file of od-plugins" "$gate" "our code calls strcat"
passes "size: a program below the cap" "tools/size a 1000000"
says "size: a program above the cap" "tools/size a 1000" "bytes too many"
# A step of tools/test, with a test that fails until it is alone and one that always does.
# What runs this one may do it the same way.
unset MAKEFLAGS MAKEOVERRIDES ONLY TAP_AGAIN
. "$tools/tap"
export PERL5LIB="$tools" CI=
prove='prove --harness TapCount'
work=$tmp/work logs=$tmp/logs TAP_COUNTS=$tmp/counts
export TAP_COUNTS
mkdir "$work" "$logs"
printf 'run:\n\t$(PROVE) -e sh $(or $(ONLY),$(ALL))\n' >steps
echo 'echo 1..1; echo ok 1' >good.t
echo 'echo 1..1; [ "$TAP_AGAIN" ] && echo not ok 1 - crowded || echo ok 1' >crowded.t
echo 'echo 1..2; echo ok 1; echo not ok 2 - never' >bad.t
step() { # ALL WANTED: the line of the step, the counts, what else is said
	: >"$TAP_COUNTS"
	tap_beside step make --no-print-directory -f steps PROVE="$prove" ALL="$1"
	awk '{ p += $1; f += $2 } END { print p " passed, " f " failed" }' "$TAP_COUNTS"
}
says_of() { # NAME ALL WORDS...
	n=$((n + 1))
	title=$1
	step "$2" >out 2>&1
	shift 2
	for words; do
		grep -q -e "$words" out && continue
		echo "not ok $n - step: $title: $words"
		sed 's/^/# /' out
		return
	done
	echo "ok $n - step: $title"
}
says_of "all is well" "good.t" "^ok: step" "^1 passed, 0 failed"
says_of "a flaky test is named" "good.t crowded.t" "^ok: step" \
	"^2 passed, 0 failed" "^FLAKY: .*: crowded.t"
says_of "a test that fails alone, too, counts once" "good.t bad.t" "^FAILED: step" \
	"^2 passed, 1 failed" "bad.t"
says_of "one of each" "crowded.t bad.t" "^FAILED: step" "^2 passed, 1 failed" \
	"^FLAKY: .*: crowded.t"
says_of "nothing to run" "" "^FAILED: step"

# A fuzz target in the place of one that libFuzzer links: it runs, finds something, or does not run at all.
mkdir -p build/x/fuzz/fuzz tests/fuzz
cp "$OD_SOURCE/tests/fuzz/run" tests/fuzz/
target() { # LINES of the program
	printf '#!/bin/sh\n%s\n' "$1" >build/x/fuzz/fuzz/fuzz_a
	chmod +x build/x/fuzz/fuzz/fuzz_a
}
target 'echo stat::number_of_executed_units: 7'
passes "a fuzz target that finds nothing passes" "tests/fuzz/run build/x/fuzz/fuzz/fuzz_a"
target 'printf bad >a-crash; echo "Test unit written to a-crash" >&2; exit 77'
says "a finding fails and shows its input" "tests/fuzz/run build/x/fuzz/fuzz/fuzz_a" '^#     YmFk$'
target 'exit 0'
says "a fuzz target that runs nothing fails" "tests/fuzz/run build/x/fuzz/fuzz/fuzz_a" '^not ok'

# The state that tools/test compares before and after all tests.
mkdir -p machine/etc/sudoers.d machine/home/me
for name in passwd group shadow sudoers sudoers.d/a; do
	echo "$name" >machine/etc/$name
done
changes() { # NAME COMMAND: the state is another one afterwards
	n=$((n + 1))
	"$tools/machine-state" machine >before
	sh -c "cd machine && $2"
	if "$tools/machine-state" machine | cmp -s before -; then
		echo "not ok $n - machine-state: $1 is not seen"
	else
		echo "ok $n - machine-state: $1 is seen"
	fi
}
changes "a user that is added" 'echo x >>etc/passwd'
changes "a member of a group" 'echo x >>etc/group'
changes "a password" 'echo x >>etc/shadow'
changes "a line of sudoers" 'echo x >>etc/sudoers'
changes "a mode" 'chmod 600 etc/sudoers'
changes "a file of sudoers.d" ': >etc/sudoers.d/b'
changes "a line in sudoers.d" 'echo x >>etc/sudoers.d/a'
changes "a home" 'mkdir home/you'
n=$((n + 1))
"$tools/machine-state" machine >before
"$tools/machine-state" machine | cmp -s before - || printf 'not '
echo "ok $n - machine-state: without a change nothing differs"
echo "1..$n"
