/* Folders for the sandbox user: home, temporary files, working directory. */
#ifndef PROC_USERDIRS_H
#define PROC_USERDIRS_H

#include "proc/user.h"

#include <stdint.h>

/*
 * Whether the user can make files in the folder: it is one, he may reach it and
 * write there, and its file system is not read-only. Goes by mode bits when
 * the server is root and he is not, so an ACL is not seen.
 */
bool userdirs_can_write(const struct user *u, const char *path);

/*
 * The user's HOME: env_home ($HOME, may be NULL) if he can write there, else
 * his entry's, else STATE/home, which is made and given to him. Never "/",
 * which engines set for a uid they do not know. -errno when all fail.
 */
int userdirs_home(const struct user *u, const char *env_home, const char *state,
	char out[USER_PATH_MAX]) MUST_USE;

/*
 * The user's TMPDIR: env_tmp ($TMPDIR, may be NULL) if he can write there, else
 * /tmp, /var/tmp, /dev/shm, else STATE/tmp, which is made and given to him.
 */
int userdirs_tmp(const struct user *u, const char *env_tmp, const char *state,
	char out[USER_PATH_MAX]) MUST_USE;

struct workdir_report {
	uint64_t seen;       /* entries looked at, the top included */
	uint64_t changed;    /* given to the user */
	uint64_t failed;     /* could not be; read-only files for example */
	const char *stopped; /* why not all was looked at, or NULL */
};

/*
 * Makes the working directory (umask 002, with parents) and gives it and all
 * entries of another owner to the user and the group gid; the top becomes
 * group-writable. Symlinks are not followed, other file systems not entered;
 * ends at WORKDIR_ENTRIES_MAX entries or at the time deadline (clock_ms). A
 * server that is not root only makes it. 0 with the report, or -errno when
 * there is no such folder afterwards.
 */
int userdirs_work(const char *path, const struct user *u, gid_t gid, uint64_t deadline,
	struct workdir_report *out) MUST_USE;

#endif
