/*
 * The browser: a process of od-plugins that drives Chromium for the actions browse and
 * browse_interactive. The first action starts it.
 */
#include "plugin/external.h"
#include "plugin/screen.h"
#include "plugin/table.h"

#include "action/observe.h"
#include "base/log.h"
#include "browser/action/answer.h"
#include "browser/devtools/find.h"
#include "proc/job.h"
#include "proc/plugins_program.h"
#include "shell/shell.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
	CALL_MS = 120000,   /* of the wire contract, for an action */
	PLACES_MAX = 65536, /* bytes of the list of searched places */
	LINE = 380,         /* longest line for the log */
};

/*
 * The path of od-plugins. Searched before each start, because it may be installed later.
 */
static char driver[FILE_PATH_MAX];

static bool browser_is_browse(const struct act *a)
{
	return !strcmp(a->action->name, "browse");
}

/* Reads the argument that the action requires. */
static int browser_read_arg(struct act *a, struct str *what)
{
	return act_arg_str(a, browser_is_browse(a) ? "url" : "browser_actions",
		str_make(NULL, 0), what);
}

/* The error text of the wire contract. why is empty if no start was tried. */
static void browser_answer_missing(struct act *a, const char *why)
{
	observe_errorf(a, "Browser functionality is not supported or disabled.%s%s",
		*why ? " " : "", why);
}

static void browser_fail_action(
	struct act *a, enum external_failure how, const char *words)
{
	struct str what = STR(""), said = str_c(words);

	if (how == EXTERNAL_MISSING || how == EXTERNAL_FAILED) {
		bool tell = how == EXTERNAL_FAILED || plugins_program_find(driver) < 0;

		browser_answer_missing(a, tell ? words : "");
		return;
	}
	/* If the argument cannot be read again, the answer omits it. */
	if (browser_read_arg(a, &what))
		what = STR("");
	if (how == EXTERNAL_TIMED_OUT)
		said = STR("Browser environment took too long to respond.");
	browse_answer_put_failure(browser_is_browse(a), what, said, a->out);
}

static int browser_run_action(struct act *a)
{
	struct plugin_instance *p =
		a->box->plugs ? plugin_set_find(a->box->plugs, &plugin_browser) : NULL;
	struct str what;

	if (browser_read_arg(a, &what)) {
		observe_errorf(a, "The %s action needs the argument \"%s\", a string.",
			a->action->name,
			browser_is_browse(a) ? "url" : "browser_actions");
		return ACT_DONE;
	}
	if (!p || !p->data) {
		browser_answer_missing(a, "");
		return ACT_DONE;
	}
	p->quiet = false;
	return external_builtin_run(p, a);
}

/* Logs the searched places, in lines that the log does not truncate. */
static void browser_log_places(struct str places)
{
	char line[LINE + 1];
	size_t n = 0;

	while (places.n) {
		struct str place = str_cut(&places, '\n');

		if (n && n + place.n + 2 > LINE) {
			log_info("no browser was found in %s", line);
			n = 0;
		}
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%.*s", n ? ", " : "",
			(int)(place.n < LINE / 2 ? place.n : LINE / 2), place.p);
	}
	log_info("no browser was found in %s", line);
}

static bool browser_find_driver(struct buf *why)
{
	int r = plugins_program_find(driver);

	if (r)
		plugins_program_explain(driver, r, why);
	return r == 0;
}

/* Logs the searched places only if a call waits for the browser. */
static bool browser_check_needs(const struct box *box, bool again, struct buf *why)
{
	struct buf places = BUF_INIT(PLACES_MAX);
	const char **found;
	struct arena a;
	int r;

	if (!browser_find_driver(why))
		return false;
	if (box->config->cdp)
		return true;
	arena_init(&a, PLACES_MAX);
	r = find_browsers(box->shell_setup->env, BROWSER_FOLDER, &a, &places, &found);
	if (r)
		buf_puts(why, err_text(r));
	else if (!*found)
		buf_puts(why,
			"no browser was found: install Chromium, name one in OD_BROWSER, "
			"or start the sandbox with --plugin browser");
	if (again && !r && !*found)
		browser_log_places(buf_view(&places));
	arena_reset(&a);
	buf_free(&places);
	return why->n == 0;
}

/* --- The folder for downloads ------------------------------------------------------ */

static int browser_mkdir_downloads(void *arg, int in, int out)
{
	const char *path = arg;

	(void)in;
	(void)out;
	return mkdir(path, 0777) < 0 && errno != EEXIST ? -errno : 0;
}

static void browser_on_downloads_done(struct job *j)
{
	job_free(j);
}

/*
 * A backend expects the folder from the start of the sandbox. The browser may start
 * later, so this plugin creates the folder.
 */
static void browser_start_downloads(const struct box *box)
{
	static const struct job_ops ops = {.done = browser_on_downloads_done};
	static struct job job;
	static char path[USER_PATH_MAX + sizeof("/.downloads")];
	const struct job_conf conf = {.ops = &ops,
		.user = box->user,
		.work = browser_mkdir_downloads,
		.arg = path};

	snprintf(path, sizeof(path), "%s/.downloads", box->shell_setup->cwd);
	if (job_start(&job, box->loop, &conf) < 0)
		log_warn("%s was not started: too many processes are running", path);
}

static int browser_start_plugin(struct plugin_instance *p)
{
	static const char *const argv[] = {driver, "browser", NULL};
	static char cdp[sizeof("OD_CDP=") + CDP_URL_MAX];
	static const char *env[] = {NULL, NULL, NULL};
	static const struct external_builtin lazily = {argv, env, CALL_MS, true,
		browser_check_needs, browser_fail_action, screen_on_ready,
		screen_on_frame};
	static const struct external_builtin at_once = {argv, env, CALL_MS, false,
		browser_check_needs, browser_fail_action, screen_on_ready,
		screen_on_frame};
	const struct config *c = p->box->config;
	size_t n = 0;
	int r;

	p->quiet = c->browser != CONFIG_BROWSER_ON && !c->cdp && !c->eval_env;
	if (c->browser == CONFIG_BROWSER_ON)
		env[n++] = "OD_BROWSER_START=1";
	if (c->cdp) {
		snprintf(cdp, sizeof(cdp), "OD_CDP=%s", c->cdp);
		env[n] = cdp;
	}
	if (c->eval_env)
		log_warn("--browsergym-eval-env %s: not supported, it needs packages of "
			 "Python; the browser is an ordinary one",
			c->eval_env);
	r = external_builtin_start(
		p, c->browser == CONFIG_BROWSER_ON ? &at_once : &lazily);
	if (!r && c->drop_in && p->state == PLUGIN_STATE_READY && !p->box->after_crash)
		browser_start_downloads(p->box);
	return r;
}

static const struct arg visit_args[] = {
	{"url", "Where to go: http, https, file or data.", .required = true},
	{0},
};

static const struct arg act_args[] = {
	{"browser_actions",
		"Calls, one on each line. Elements are named by the bid that stands "
		"before them, in brackets, in the last answer: click('12'), fill('12', "
		"'text'), select_option('12', 'a'), hover, press('12', 'Enter'), focus, "
		"clear, drag_and_drop('12', '15'), upload_file('12', '/path'). Also: "
		"goto('https://...'), go_back(), go_forward(), scroll(0, 500), "
		"new_tab(), tab_focus(0), tab_close(), noop(1000).",
		.required = true},
	{0},
};

static const struct action browse = {
	.name = "browse",
	.args = visit_args,
	.start = browser_run_action,
	.abandon = external_abandon,
};

static const struct action browse_interactive = {
	.name = "browse_interactive",
	.args = act_args,
	.start = browser_run_action,
	.abandon = external_abandon,
};

static void browser_stop_plugin(struct plugin_instance *p)
{
	screen_drain(p);
	external_builtin_stop(p);
}

static const struct plugin_endpoint routes[] = {
	{"GET", "/v1/browser/screen", screen_handle},
	{0},
};

static const struct action *const actions_of[] = {&browse, &browse_interactive, NULL};

const struct plugin plugin_browser = {
	.name = "browser",
	.start = browser_start_plugin,
	.drain = screen_drain,
	.stop = browser_stop_plugin,
	.info = external_write_info,
	.actions = actions_of,
	.routes = routes,
};
