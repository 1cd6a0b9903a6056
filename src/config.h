/*
 * The command line and the environment, read once into one const struct.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include "base/buf.h"
#include "base/hash.h"
#include "limits.h"

enum config_role {
	ROLE_SERVE,
	ROLE_INIT,
	ROLE_SHELL,
	ROLE_CONNECT,
	ROLE_HEALTH,
	ROLE_COPY_SELF,
	ROLE_VERSION,
	ROLE_LICENCES,
	ROLE_HELP,
};

/* When the program of the image runs: see --entrypoint in docs/client.md. */
enum config_entrypoint {
	CONFIG_ENTRYPOINT_NONE,
	CONFIG_ENTRYPOINT_RUN, /* after the server is ready */
	/* before the server is ready, until the program has ended */
	CONFIG_ENTRYPOINT_WAIT,
};

/* When a browser starts, if there is any. */
enum config_browser {
	CONFIG_BROWSER_LAZY, /* when it is first needed */
	CONFIG_BROWSER_ON,   /* after the server */
	CONFIG_BROWSER_OFF,
};

/* Whether a user that is absent is added to /etc. */
enum config_manage {
	CONFIG_MANAGE_AUTO, /* if this is a container, see proc/container.h */
	CONFIG_MANAGE_ON,
	CONFIG_MANAGE_OFF,
};

struct config {
	enum config_role role;
	enum config_entrypoint entrypoint;
	const char *const *entrypoint_words; /* for RUN and WAIT; ends with NULL */
	const char *copy_target;             /* COPY_SELF */

	const char *address; /* numeric */
	uint16_t port;
	bool has_key;
	bool drop_in; /* an unmodified backend has started the program */
	bool is_pod;  /* the program runs in a Pod of Kubernetes */
	bool no_key;  /* the server may start without a key, see config_is_open */
	uint8_t key[SHA256_LEN]; /* the SHA-256 of the session key */
	const char *tls_cert;    /* PEM files; both or none */
	const char *tls_key;
	/* a file: the CA of the clients; NULL: any client */
	const char *tls_client_ca;
	bool tls_self; /* without tls_cert: use a self-signed certificate */
	bool tls;      /* HEALTH: the server to be checked uses TLS */

	const char *state_dir;   /* absolute; NULL: none */
	const char *working_dir; /* absolute */
	bool working_dir_needed; /* the start fails if the user cannot enter it */
	const char *username;
	uint32_t uid;
	enum config_manage manage_users;
	bool is_first;     /* started as process 1 */
	const char *shell; /* NULL: the shells of shells_paths, in order */
	bool as_user;      /* shells run as username */
	bool state_sync;   /* written state survives a crash of the machine */
	uint32_t no_change_s;
	uint32_t work_gid; /* the group of the working directory */
	enum config_browser browser;
	bool viewer;      /* the file viewer, with or without a browser */
	bool has_pin;     /* see connect_pin */
	uint32_t plugins; /* bits, by the index in plugins[] (plugin/plugin.h) */
	/* plugins on the disk: folders in plugin_dir */
	const char *disk_plugins[PLUGINS_DISK_MAX];
	size_t disk_plugins_n;
	const char *eval_env; /* of BrowserGym; NULL: none */
	/* the endpoint of a running browser; NULL: a browser is started */
	const char *cdp;
	const char *plugin_dir;
	const char *connect; /* the URL to connect to; NULL: none */
	/* the name of the sandbox for backends; NULL: the host's */
	const char *connect_id;
	const char *connect_token; /* a file; NULL: none */
	const char *connect_ca;    /* a file; NULL: none */
	const char *connect_cert;  /* PEM files; both or none */
	const char *connect_key;
	uint8_t connect_pin[SHA256_LEN]; /* of the backend's SubjectPublicKeyInfo */
	uint64_t plugin_ms;              /* time limit for the start of all plugins */
	const char *git_name;  /* for commits of a user without a name; NULL: none */
	const char *git_email; /* the e-mail address for them; NULL: none */
};

/*
 * Reads argv and the environment as docs/client.md says. Removes the session key from
 * the environment, so that no child and no reader of /proc finds it; only its SHA-256 is
 * kept. 0, or -EINVAL with all errors appended to errors, a line each. The strings belong
 * to argv and the environment.
 */
int config_read(struct config *c, int argc, char **argv, struct buf *errors) MUST_USE;

/* Whether everyone who can connect to the server may run commands. */
bool config_is_open(const struct config *c);

/* Parts of config_read: take the key from the environment, and require a key. */
void config_take_key(struct config *c);
void config_check_key(const struct config *c, struct buf *errors);

/* The usage text of the client. */
const char *config_usage(void);

#endif
