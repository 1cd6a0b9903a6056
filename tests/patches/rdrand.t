#!/bin/sh
# No build has the RDRAND instruction: 03-no-rdrand.patch.
n=0 bad=0
for o in "$OD_BUILD"/*/obj/third_party/bearssl/src/rand/sysrng.o; do
	[ -f "$o" ] || continue
	n=$((n + 1))
	if objdump -d "$o" | grep -q rdrand; then
		bad=$((bad + 1))
		echo "# rdrand in $o"
	fi
done
[ "$n" -gt 0 ] && echo "ok 1 - there are objects" || echo "not ok 1 - no sysrng.o"
[ "$bad" = 0 ] && echo "ok 2 - no rdrand" || echo "not ok 2 - no rdrand"
echo "1..2"
[ "$n" -gt 0 ] && [ "$bad" = 0 ]
