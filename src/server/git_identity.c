#include "server/git_identity.h"

#include "base/env.h"
#include "base/fd.h"
#include "base/log.h"
#include "proc/capture.h"
#include "proc/which.h"
#include "shell/shell.h"

#include <stdio.h>
#include <unistd.h>

enum {
	GIT_MS = 5000,  /* for one call; a cold disk needs about 100 ms */
	SET_MS = 15000, /* for all calls, since the start waits for them */
	WORDS_MAX = 512,
	EXIT_NO_KEY = 1, /* of "git config --get": the value is not set */
};

static int git_identity_run_git(const char *path, const char *const *env,
	const char *action, const char *key, const char *value)
{
	const char *const argv[] = {"git", "config", action, key, value, NULL};
	const struct capture c = {
		.path = path, .argv = argv, .env = env, .ms = GIT_MS, .wait = fd_wait};
	struct buf out = BUF_INIT(WORDS_MAX);
	int code = -1;
	int r = capture(&c, &out, &code);

	buf_free(&out);
	return r ? r : code;
}

static int git_identity_set_value(const char *path, const char *const *env,
	const char *key, const char *value, int out)
{
	char words[WORDS_MAX];
	int r, n;

	if (!value || git_identity_run_git(path, env, "--get", key, NULL) != EXIT_NO_KEY)
		return 0;
	r = git_identity_run_git(path, env, "--global", key, value);
	if (!r)
		return 0;
	n = snprintf(words, sizeof(words), "git config --global %s: %s\n", key,
		r < 0 ? err_text(r) : "git has failed; is the home writable?");
	return fd_write_all(out, words, (size_t)n);
}

static int git_identity_work(void *arg, int in, int out)
{
	const struct git_identity *g = arg;
	const struct config *c = g->box->config;
	const char *const *env = g->box->shell_setup->env;
	char path[FILE_PATH_MAX];
	int r;

	(void)in;
	if (which_find("git", env_find(env, STR("PATH")), path) < 0)
		return 0;
	/* The working directory may be a repository with an identity of its own. */
	r = chdir("/") < 0
		? -1
		: git_identity_set_value(path, env, "user.name", c->git_name, out);
	return r ? r : git_identity_set_value(path, env, "user.email", c->git_email, out);
}

static void git_identity_on_done(struct job *j)
{
	struct git_identity *g = container_of(j, struct git_identity, job);
	struct str rest = buf_view(&j->out);

	if (j->outcome != JOB_DONE)
		log_warn("the identity for git was not set: %s",
			job_outcome_text(j->outcome));
	while (rest.n) {
		struct str line = str_cut(&rest, '\n');

		log_warn("%.*s", STR_ARG(line));
	}
	job_free(j);
	g->done(g->arg);
}

void git_identity_set(
	struct git_identity *g, const struct box *box, void (*done)(void *arg), void *arg)
{
	static const struct job_ops ops = {.done = git_identity_on_done};
	const struct job_conf conf = {
		.ops = &ops,
		.user = box->user,
		.work = git_identity_work,
		.arg = g,
		.ms = SET_MS,
		.out_max = 2 * WORDS_MAX,
	};
	bool wanted = box->config->git_name || box->config->git_email;

	g->box = box;
	g->done = done;
	g->arg = arg;
	if (!wanted || box->after_crash || job_start(&g->job, box->loop, &conf) < 0)
		done(arg);
}
