#include "base/signal_name.h"

#include "tests/tap.h"

#include <signal.h>

static const struct {
	const char *text;
	int signo;
} rows[] = {
	{"SIGTERM", SIGTERM},
	{"TERM", SIGTERM},
	{"term", SIGTERM},
	{"15", 15},
	{"SIG15", 15},
	{"64", 64},
	{"SIG40", 40},
	{"SIGCHLD", SIGCHLD},
	{"0", 0},
	{"65", 0},
	{"-1", 0},
	{"", 0},
	{"SIG", 0},
	{"SIGSIGTERM", 0},
	{"TER", 0},
	{"TERMS", 0},
	{"NOSUCH", 0},
};

int main(void)
{
	int named = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		is_int(signal_number(str_c(rows[i].text)), rows[i].signo,
			"the number of '%s'", rows[i].text);
	for (int signo = 1; signo < 32; signo++)
		named += signal_name(signo) &&
			signal_number(str_c(signal_name(signo))) == signo;
	is_int(named, 31, "each standard signal has a name that leads back to it");
	is_str(signal_name(SIGINT), "SIGINT", "the name of a signal");
	ok(!signal_name(0) && !signal_name(-1) && !signal_name(32) && !signal_name(64),
		"other numbers have no name");
	return done_testing();
}
