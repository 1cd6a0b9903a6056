/*
 * The sandbox user, with whose rights shells and file actions run.
 *
 * Every image is taken as it is: without passwd, without useradd, with the uid taken by
 * another user, with /etc read-only, with a server that is not root. A step that fails is
 * reported in notes and never stops the start.
 */
#ifndef PROC_USER_H
#define PROC_USER_H

#include "base/buf.h"
#include "limits.h"

#include <sys/types.h>

enum {
	USER_NAME_MAX = 64,    /* bytes; useradd allows 32, directory services more */
	USER_DB_MAX = 4 << 20, /* bytes of passwd; a site with 50,000 users has this */
};

enum user_origin {
	USER_GIVEN,  /* the environment's own user: no setup is needed */
	USER_FOUND,  /* an entry of the image */
	USER_MADE,   /* an entry that was added */
	USER_NUMBER, /* no entry, and none could be added: used by its numbers */
	USER_SELF,   /* the server is not root and can only be itself */
};

struct user {
	char name[USER_NAME_MAX];
	char home[USER_PATH_MAX];
	char shell[USER_PATH_MAX];
	uid_t uid;
	gid_t gid;
	gid_t groups[USER_GROUPS_MAX]; /* for setgroups; gid is the first */
	size_t groups_n;
	enum user_origin origin;
};

/*
 * Finds a user in ROOT/etc/passwd and ROOT/etc/group; root is "" for the running system
 * (another prefix is for tests and is no jail: the kernel resolves symlinks). 0 with
 * origin USER_FOUND; -ENOENT for no such entry or no passwd file; -errno.
 */
int user_find_uid(const char *root, uid_t uid, struct user *out) MUST_USE;

/*
 * Finds a user as "docker exec --user" does: a name or a uid, followed by ":" and the
 * name or number of a group, which is then the only group. A number needs no entry: then
 * its group is 0, its home "/", its name empty. -ENOENT: there is no such name;
 * ERR_RANGE: a number is not valid for a user or a group.
 */
int user_find(const char *root, struct str text, struct user *out) MUST_USE;

struct user_conf {
	const char *root;     /* as above */
	struct str name;      /* the configured name */
	uid_t uid;            /* of a user that must be added; ignored for root */
	const char *shell;    /* shell for the entry of such a user */
	const char *env_user; /* $USER, or NULL */
	bool manage;          /* a user that is absent may be added to /etc */
	bool sudo;            /* a user that is added becomes root without a password */
};

/*
 * Finds the user, or with manage adds the user as useradd would: primary group root, a
 * locked password, a home under /home; with sudo also the group sudo if it exists, and a
 * sudoers line if sudo is installed. Without manage no file is changed, and an absent
 * user is its uid alone. An existing user keeps the uid; a uid may be shared. A name that
 * is $USER, and neither root nor openhands, is used without any setup. Always gives a
 * user; notes receives a line for each step that was done or has failed, each ended by
 * LF.
 */
void user_ensure(const struct user_conf *w, struct user *out, struct buf *notes);

#endif
