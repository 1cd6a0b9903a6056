/* The program inside the sandbox: argv selects the role, nothing else happens here. */
#include "base/exit.h"
#include "base/fd.h"
#include "base/log.h"
#include "config.h"
#include "proc/init.h"
#include "server/role_shell.h"
#include "server/roles.h"
#include "server/serve.h"

#include <stdio.h>
#include <unistd.h>

enum { ERRORS_MAX = 1 << 20 };

static int main_serve_child(struct store *store, void *arg)
{
	return serve_run(store, arg);
}

static int main_report_usage(struct buf *errors)
{
	struct str rest = buf_view(errors);

	while (rest.n) {
		struct str line = str_cut(&rest, '\n');

		log_error("%.*s", STR_ARG(line));
	}
	buf_free(errors);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct buf errors = BUF_INIT(ERRORS_MAX);
	struct store none = {.sock = -1};
	struct config config;

	fd_open_standard();
	log_set_name("od-runtime-client");
	if (config_read(&config, argc, argv, &errors) < 0)
		return main_report_usage(&errors);
	switch (config.role) {
	case ROLE_INIT:
		return init_run(main_serve_child, &config);
	case ROLE_SERVE:
		return serve_run(&none, &config);
	case ROLE_SHELL:
		return role_shell(&config);
	case ROLE_CONNECT:
		return role_connect(config.port);
	case ROLE_HEALTH:
		return role_health(config.port, config.tls);
	case ROLE_COPY_SELF:
		return role_copy_self(config.copy_target);
	case ROLE_VERSION:
		return role_print("od-runtime-client " OD_VERSION "\n");
	case ROLE_LICENCES:
		return role_licences("od-runtime-client");
	case ROLE_HELP:
		return role_print(config_usage());
	}
	return EXIT_BUG;
}
