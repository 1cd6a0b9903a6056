/*
 * The identity that git gives to commits of the sandbox user. Backends up to 0.52 expect
 * the server to have set it.
 */
#ifndef SERVER_GIT_IDENTITY_H
#define SERVER_GIT_IDENTITY_H

#include "action/act.h"
#include "proc/job.h"

/* The caller zeroes it. */
struct git_identity {
	struct job job;
	const struct box *box;
	void (*done)(void *arg);
	void *arg;
};

/*
 * Sets user.name and user.email of the configuration in git's global configuration of the
 * sandbox user, if git is installed and has no value. Calls done once, perhaps before
 * this returns; failures are logged.
 */
void git_identity_set(struct git_identity *g, const struct box *box,
	void (*done)(void *arg), void *arg);

#endif
