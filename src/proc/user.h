/*
 * The sandbox user: whose rights shells and file actions have.
 *
 * Every image is taken as it is: without passwd, without useradd, with the uid
 * taken by another, with /etc read-only, with a server that is not root. What
 * cannot be done is told and never stops the start.
 */
#ifndef PROC_USER_H
#define PROC_USER_H

#include "base/buf.h"
#include "limits.h"

#include <sys/types.h>

enum user_origin {
	USER_GIVEN,  /* the environment's own user: nothing is to be set up */
	USER_FOUND,  /* an entry of the image */
	USER_MADE,   /* an entry that was added */
	USER_NUMBER, /* no entry, and none could be added: works by its numbers */
	USER_SELF,   /* the server is not root and can be nobody but itself */
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
 * Looks a user up in ROOT/etc/passwd and ROOT/etc/group; root is "" for the
 * running system (another prefix is for tests and is no jail: symlinks are the
 * kernel's). 0 with origin USER_FOUND; -ENOENT for no such entry or no passwd
 * at all; -errno.
 */
int user_find_uid(const char *root, uid_t uid, struct user *out) MUST_USE;

/*
 * Finds a user as "docker exec --user" does: a name or a uid, with ":" and the name or
 * number of a group behind it, which then is the only group. A number needs no entry:
 * its group is 0 then, its home "/", its name empty. -ENOENT: there is no such name;
 * ERR_RANGE: a number is not valid for a user or a group.
 */
int user_find(const char *root, struct str text, struct user *out) MUST_USE;

struct user_want {
	const char *root;     /* as above */
	struct str name;      /* as configured */
	uid_t uid;            /* of a user that must be added; ignored for root */
	const char *shell;    /* the same; for its entry */
	const char *env_user; /* $USER, or NULL */
	bool manage;          /* a user that is absent may be added to /etc */
	bool sudo;            /* a user that is added becomes root without a password */
};

/*
 * Finds the user, or with manage adds him as useradd would: primary group root, a locked
 * password, a home under /home; with sudo also the group sudo when there is one, and a
 * sudoers line when sudo is installed. Without manage no file is changed, and an
 * absent user is its uid alone. An existing user keeps his uid; a uid may be shared. A
 * name that is $USER, and neither root nor openhands, is taken without any
 * setting up. Always gives a user; notes receives a line for each thing that
 * was done or could not be, each ended by LF.
 */
void user_ensure(const struct user_want *w, struct user *out, struct buf *notes);

#endif
