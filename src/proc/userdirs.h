/* Folders for the sandbox user: home, temporary files, working directory. */
#ifndef PROC_USERDIRS_H
#define PROC_USERDIRS_H

#include "proc/user.h"

#include <stdint.h>

/* The limits of the walk through a working directory. */
enum {
	WORKDIR_DEPTH_MAX = 64,       /* one open descriptor each; node_modules has 30 */
	WORKDIR_ENTRIES_MAX = 500000, /* 1 s to read, 3 s to chown; chromium fits */
};

/*
 * Whether the user can make files in the folder: path is a folder, the user may reach it
 * and write there, and its file system is not read-only. Decided by mode bits when the
 * server is root and the user is not, so an ACL is not seen.
 */
bool userdirs_can_write(const struct user *u, const char *path);

/*
 * The user's HOME: env_home ($HOME, may be NULL) if the user can write there, else the
 * home of the entry, else STATE/home, which is made and given to the user. Never "/",
 * which engines set for a uid without an entry. -errno when all fail.
 */
int userdirs_find_home(const struct user *u, const char *env_home, const char *state,
	char out[USER_PATH_MAX]) MUST_USE;

/*
 * The user's TMPDIR: env_tmp ($TMPDIR, may be NULL) if the user can write there, else
 * /tmp, /var/tmp, /dev/shm, else STATE/tmp, which is made and given to the user.
 */
int userdirs_find_tmp(const struct user *u, const char *env_tmp, const char *state,
	char out[USER_PATH_MAX]) MUST_USE;

struct workdir_report {
	uint64_t seen;       /* entries visited, the top included */
	uint64_t changed;    /* given to the user */
	uint64_t failed;     /* could not be given; read-only files for example */
	const char *stopped; /* why not all entries were visited, or NULL */
};

/*
 * Makes the working directory (umask 002, with parents) and gives it and all
 * entries of another owner to the user and the group gid; the top becomes
 * group-writable. Symlinks are not followed, other file systems not entered;
 * ends at WORKDIR_ENTRIES_MAX entries or at the time deadline (clock_ms). A
 * server that is not root only makes it. 0 with the report, or -errno when
 * there is no such folder afterwards.
 */
int userdirs_make_work(const char *path, const struct user *u, gid_t gid,
	uint64_t deadline, struct workdir_report *out) MUST_USE;

#endif
