#!/bin/sh
# Each of our patches is needed: without it, its test fails. The sources are
# copied, unpatched and compiled here, so that a patch which is not needed any
# more, or a test which cannot fail, shows up.
cd "$OD_SOURCE" || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
for tree in patched plain; do
	mkdir "$tmp/$tree"
	cp -r third_party/src/bearssl/inc third_party/src/bearssl/src "$tmp/$tree" || exit 1
	cp third_party/src/jsmn/jsmn.h "$tmp/$tree/inc" || exit 1
done
for p in 03-no-rdrand 02-getrandom 01-skey-bound; do
	patch -s -R -p1 -d "$tmp/plain" <"third_party/patches/bearssl/$p.patch" || exit 1
done
patch -s -R -p1 -d "$tmp/plain/inc" <third_party/patches/jsmn/01-close-innermost.patch ||
	exit 1

# run TREE TEST SOURCE...: compiled with the address sanitizer against that tree.
# Status 0: it passed. 1: it failed. 2: it could not be compiled.
run() {
	from=$tmp/$1 test=$2
	shift 2
	gcc -std=gnu11 -D_GNU_SOURCE -w -g -fsanitize=address -iquote . -isystem "$from/inc" \
		-isystem "$from/src" -o "$from/$test" "tests/patches/$test.c" "$@" \
		>"$tmp/log" 2>&1 || return 2
	"$from/$test" >"$tmp/log" 2>&1 || return 1
}

has_rdrand() {
	gcc -I"$tmp/$1/inc" -I"$tmp/$1/src" -c -o "$tmp/rng.o" \
		"$tmp/$1/src/rand/sysrng.c" >"$tmp/log" 2>&1 || return 2
	! objdump -d "$tmp/rng.o" | grep -q rdrand
}

n=0
expect() { # WANTED-STATUS NAME STATUS
	n=$((n + 1))
	if [ "$1" = "$3" ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' "$tmp/log"
	fi
}

for tree in patched plain; do
	[ $tree = patched ] && want=0 || want=1
	run $tree test_skey "$tmp/$tree/src/x509/skey_decoder.c"
	expect $want "key decoder bound, $tree source" $?
	run $tree test_seed
	expect $want "seed from the kernel, $tree source" $?
	run $tree test_jsmn
	expect $want "jsmn closes in one step, $tree source" $?
	if [ "$(uname -m)" = x86_64 ]; then
		has_rdrand $tree
		expect $want "no rdrand, $tree source" $?
	fi
done
echo "1..$n"
