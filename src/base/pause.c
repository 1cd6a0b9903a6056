#include "base/pause.h"

#include "base/clock.h"

#include <poll.h>
#include <stddef.h>

void pause_until(uint64_t deadline)
{
	uint64_t now = clock_ms();
	uint64_t rest = deadline > now ? deadline - now : 0;

	(void)!poll(NULL, 0, rest < PAUSE_MAX_MS ? (int)rest : PAUSE_MAX_MS);
}
