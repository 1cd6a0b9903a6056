#include "shell/shell_hang.h"

#include <string.h>

enum {
	HANG_CHECK_MS = 200,      /* from an interrupt key to the first check */
	HANG_CHECK_MAX_MS = 6400, /* HANG_CHECK_MS doubles up to this */
};

static void shell_hang_on_check(struct timer *t);

static void shell_hang_arm_check(struct shell_hang *h, uint64_t ms)
{
	timer_set(h->loop, &h->timer, ms, shell_hang_on_check);
}

/*
 * A single sighting may be chance: a hang counts if it is seen twice in the same place.
 */
static void shell_hang_on_check(struct timer *t)
{
	struct shell_hang *h = container_of(t, struct shell_hang, timer);
	char where[INSPECT_TEXT_MAX];

	if (!h->ops->is_deadlocked(h, where)) {
		h->where[0] = '\0';
		h->pause *= 2;
		if (h->pause <= HANG_CHECK_MAX_MS)
			shell_hang_arm_check(h, h->pause);
	} else if (strcmp(where, h->where) != 0) {
		memcpy(h->where, where, sizeof(where));
		shell_hang_arm_check(h, HANG_CHECK_MS);
	} else {
		h->ops->hung(h);
	}
}

void shell_hang_expect(struct shell_hang *h)
{
	/* If a hang has been seen once, another key does not restart the check. */
	if (timer_is_armed(&h->timer) && h->where[0])
		return;
	h->where[0] = '\0';
	h->pause = HANG_CHECK_MS;
	shell_hang_arm_check(h, h->pause);
}

void shell_hang_cancel(struct shell_hang *h)
{
	timer_cancel(h->loop, &h->timer);
}
