#!/bin/sh
# The gates can fail: a small tree with one sin per rule, and what each tool says.
tools=$OD_SOURCE/tools
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/tools" "$tmp/src/base" "$tmp/src/net" "$tmp/src/file" "$tmp/inject"
cp "$tools/lint" "$tools/layers" "$tools/linkgate" "$tmp/tools/"
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
	rm -f src/*.c src/*/*.c src/*/*.h inject/*.c
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
echo '#include "file/tar.h"' | file src/net/a.c
says "layers: beside" tools/layers "src/net/a.c:1: .*'net' may include base, loop, proc"
echo '#include "net/http.h"' | file src/base/a.c
says "layers: above" tools/layers "src/base/a.c:1: .*only itself"
echo '#include "file/tar.h"' | file inject/a.c
passes "layers: a single header" tools/layers
echo '#include "file/read.h"' | file inject/a.c
says "layers: another header of that folder" tools/layers "inject/a.c:1"
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
sin sleep "sleep: " 'sleep(n);'
sin malloc "malloc: " 'p = malloc(n);'
sin "calloc outside ..._new" "calloc: " 'p = calloc(1, n);'
sin exit "exit: " 'exit(n);'
sin "a third label" "the only labels" 'goto again;'
sin typedef "typedefs" 'typedef struct a a;'
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
gcc -no-pie -o release/a release/obj/src/main.o -Wl,-z,execstack,-z,lazy 2>/dev/null
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
echo "1..$n"
