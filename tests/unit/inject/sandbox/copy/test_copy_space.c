/* How much of a disk a copy may take. */
#include "inject/sandbox/copy/copy_space.h"

#include "base/fd.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>

enum { MIB = 1 << 20, GIB = 1 << 30, STEP = 64 * MIB };

static void test_allowed(void)
{
	const uint64_t tib = (uint64_t)1 << 40;

	is_int(copy_space_allowed(tib / 2, tib, GIB, STEP), STEP, "much room: a step");
	is_int(copy_space_allowed(GIB + 5, tib, GIB, STEP), 5,
		"down to 1 GiB of a large disk");
	is_int(copy_space_allowed(GIB, tib, GIB, STEP), 0, "and no further");
	is_int(copy_space_allowed(MIB + 7, 100 * MIB, GIB, STEP), 7,
		"to a hundredth of a small one");
	is_int(copy_space_allowed(0, 0, GIB, STEP), 0, "a disk of no size");
}

static void test_take(void)
{
	struct copy_space s;
	int dir = fd_open("/tmp", O_RDONLY | O_DIRECTORY, 0);

	copy_space_init(&s);
	is_int(copy_space_reserve(&s, -1, 16 * MIB, 1000), 0,
		"a small copy asks nothing");
	is_int(copy_space_reserve(&s, -1, 1, 0), -EBADF, "more bytes do");
	is_int(copy_space_reserve(&s, -1, 0, 1), -EBADF, "and more entries");
	is_int(copy_space_reserve(&s, dir, 1, 1), 0, "where there is room they may come");
	is_int(copy_space_reserve(&s, dir, UINT64_MAX, 0), -ENOSPC,
		"more than any disk has");
	fd_close(&dir);
}

int main(void)
{
	test_allowed();
	test_take();
	return done_testing();
}
