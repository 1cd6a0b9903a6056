#include "server/role_shell.h"

#include "base/exit.h"
#include "base/log.h"
#include "server/identity.h"

int role_shell(const struct config *c)
{
	static struct user_identity w;
	const char *argv[] = {NULL, NULL};
	struct spawn s = {.argv = argv};
	int r;

	/* Messages for the server's log are not shown on a terminal. */
	log_set_quiet();
	/* The running server has made the user already. */
	r = identity_find(&w, c, true);
	if (r) {
		log_error("%s", err_text(r));
	} else if (!w.setup.path) {
		log_error("%s", w.setup.missing);
	} else {
		argv[0] = w.setup.arg0;
		s.path = w.setup.path;
		s.env = w.setup.env;
		s.cwd = w.setup.cwd;
		s.user = w.setup.user;
		r = spawn_replace(&s);
		log_error("%s: %s", s.path, err_text(r));
	}
	identity_free(&w);
	return EXIT_ENVIRONMENT;
}
