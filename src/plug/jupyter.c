/*
 * The plugin of Python cells: the action run_ipython on an embedded driver. Cells are
 * executed one by one; those that come meanwhile wait in a line.
 */
#include "plug/table.h"

#include "act/observe.h"
#include "act/session.h"
#include "base/float.h"
#include "base/log.h"
#include "kernel/driver.h"
#include "kernel/native.h"
#include "limits.h"
#include "term/shell.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { WORDS = 512 };

enum cell_state {
	CELL_WAITS, /* in the line */
	CELL_RUNS,
	CELL_CALLS, /* the same, without a Python */
	CELL_DIED,  /* with its kernel; it is answered when that is there again, or not */
};

/* A request on its way. Lives in the request's arena, while somebody waits for it. */
struct cell_run {
	enum cell_state state;
	struct jupyter *jupyter;
	struct act *act;
	struct cell_run *next;
	struct str code;
	struct timer timer;
	int status; /* DIED: of the kernel */
};

struct jupyter {
	struct plug *plug;
	struct driver *driver;
	struct native *native;
	struct buf prepare; /* what an interpreter executes first */
	struct cell_run *current;
	struct cell_run *line;
	size_t line_n;
	struct timer limit; /* of a cell that runs, but nobody waits for */
	bool lost;          /* the variables, and nobody has been told */
};

static const char no_python[] =
	"[No Python interpreter was found in this sandbox. Only agentskills calls can "
	"run here; use the bash tool instead, or build the image with the plugin "
	"python.]";
static const char no_memory[] =
	"[The cell was not executed: the sandbox is out of memory.]";

static struct loop *loop_of(const struct jupyter *j)
{
	return j->plug->box->loop;
}

static struct str shell_dir(const struct jupyter *j)
{
	const struct box *box = j->plug->box;
	struct str cwd = box->session ? session_cwd(box->session) : STR("");

	return cwd.n ? cwd : box_cwd(box);
}

/* --- Answers ---------------------------------------------------------------- */

/* images may be NULL. */
static void observe(struct jupyter *j, struct cell_run *r, struct buf *content,
	const struct cell *images)
{
	struct act *a = r->act;
	struct str cwd = shell_dir(j);
	struct jw w;

	content->n = cell_rstrip(buf_view(content)).n;
	if (arg_bool(a, "include_extra", true))
		buf_fmt(content,
			"\n[Jupyter current working directory: %.*s]"
			"\n[Jupyter Python interpreter: %s]",
			STR_ARG(cwd), driver_python(j->driver));
	observe_begin(&w, a->out, "run_ipython", STR("Code executed in IPython cell."),
		buf_view(content));
	jw_key(&w, "code");
	jw_str(&w, r->code);
	jw_key(&w, "image_urls");
	if (images)
		cell_write_images(images, &w);
	else
		jw_null(&w);
	jw_end(&w);
	jw_key(&w, "success");
	jw_bool(&w, true);
	jw_end(&w);
}

static void answer(struct jupyter *j, struct cell_run *r, struct buf *content,
	const struct cell *images)
{
	struct act *a = r->act;

	timer_cancel(loop_of(j), &r->timer);
	observe(j, r, content, images);
	a->state = NULL;
	a->done(a);
}

static void answer_words(struct jupyter *j, struct cell_run *r, const char *words)
{
	struct buf content = BUF_INIT(OBSERVATION_MAX);

	buf_puts(&content, words);
	answer(j, r, &content, NULL);
	buf_free(&content);
}

/* With what the cell has given. */
static void answer_with(struct jupyter *j, struct cell_run *r, const struct cell *cell)
{
	struct buf content = BUF_INIT(OBSERVATION_MAX);

	if (cell_content(cell, &content) < 0) {
		buf_reset(&content);
		buf_puts(&content, "[The output was lost: the server is out of memory.]");
	}
	answer(j, r, &content, cell);
	buf_free(&content);
}

static void answer_cell(struct jupyter *j, struct cell_run *r)
{
	answer_with(j, r, driver_cell(j->driver));
}

/* --- The line --------------------------------------------------------------- */

static void unlink_run(struct jupyter *j, struct cell_run *r)
{
	struct cell_run **at = &j->line;

	if (r == j->current) {
		j->current = NULL;
		return;
	}
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	j->line_n--;
}

static void look_at_asker(struct timer *t);

/* A cell without a limit holds up all others: it is for somebody who is there. */
static void watch_asker(struct jupyter *j)
{
	struct cell_run *r = j->current;

	if (r->timer.slot || !r->act->left)
		return;
	if (timer_set(loop_of(j), &j->limit, CELL_LOOK_MS, look_at_asker) < 0)
		log_warn("jupyter: a cell without a limit is not watched");
}

static void look_at_asker(struct timer *t)
{
	struct jupyter *j = container_of(t, struct jupyter, limit);
	struct cell_run *r = j->current;

	if (!r || r->state != CELL_RUNS)
		return;
	if (!r->act->left || !r->act->left(r->act)) {
		watch_asker(j);
		return;
	}
	unlink_run(j, r);
	driver_interrupt(j->driver);
	answer_words(j, r, "[The cell was interrupted: the client has left.]");
}

/* The next cell has its turn, if there is one and a kernel for it. */
static void pump(struct jupyter *j)
{
	while (!j->current && j->line && driver_state(j->driver) == DRIVER_IDLE) {
		struct cell_run *r = j->line;
		int err;

		unlink_run(j, r);
		j->current = r;
		timer_cancel(loop_of(j), &j->limit);
		cell_reset(driver_cell(j->driver));
		if (j->lost)
			cell_text(driver_cell(j->driver),
				STR("[Kernel was restarted; variables were lost.]\n"));
		err = driver_execute(j->driver, r->code, shell_dir(j));
		if (err == 0) {
			r->state = CELL_RUNS;
			j->lost = false;
			watch_asker(j);
			return;
		}
		j->current = NULL;
		answer_words(j, r, no_memory);
	}
}

/* The same while there is no Python and none is looked for. */
static void pump_calls(struct jupyter *j)
{
	while (!j->current && j->line && driver_state(j->driver) == DRIVER_NONE) {
		struct cell_run *r = j->line;

		unlink_run(j, r);
		j->current = r;
		r->state = CELL_CALLS;
		if (native_execute(j->native, r->code, shell_dir(j)) == 0)
			return;
		j->current = NULL;
		answer_words(j, r, no_python);
	}
}

static void calls_done(void *arg)
{
	struct jupyter *j = arg;
	struct cell_run *r = j->current;

	j->current = NULL;
	answer_with(j, r, native_cell(j->native));
	pump(j);
	pump_calls(j);
}

static void time_over(struct timer *t)
{
	struct cell_run *r = container_of(t, struct cell_run, timer);
	struct jupyter *j = r->jupyter;
	char seconds[FLOAT_TEXT], words[WORDS];

	float_text(r->act->timeout, seconds);
	snprintf(words, sizeof(words), "[Execution timed out (%s seconds).]%s", seconds,
		r->state == CELL_WAITS
			? "\n[The cell was not started: another one was running.]"
			: "");
	unlink_run(j, r);
	if (r->state == CELL_RUNS)
		driver_interrupt(j->driver);
	if (r->state == CELL_CALLS)
		native_stop(j->native);
	answer_words(j, r, words);
	pump(j);
	pump_calls(j);
}

/* --- What the kernel says --------------------------------------------------- */

static void put_death(struct buf *words, int status)
{
	if (WIFSIGNALED(status))
		buf_fmt(words, "[Kernel died (signal %d).", WTERMSIG(status));
	else
		buf_fmt(words, "[Kernel died (exit status %d).", WEXITSTATUS(status));
}

/* why: NULL, or why there is no kernel now. What the cell gave stays in the cell. */
static void answer_death(struct jupyter *j, const char *why)
{
	struct cell_run *r = j->current;
	struct cell *cell = driver_cell(j->driver);
	struct buf words = BUF_INIT(WORDS * 4);
	struct str before = buf_view(cell->tail.n ? &cell->tail : &cell->head);

	if (before.n && before.p[before.n - 1] != '\n')
		buf_putc(&words, '\n');
	put_death(&words, r->status);
	if (why)
		buf_fmt(&words, " It could not be restarted: %s.]", why);
	else
		buf_puts(&words, " It was restarted; all variables were lost.]");
	cell_text(cell, buf_view(&words));
	buf_free(&words);
	j->current = NULL;
	j->lost = false;
	answer_cell(j, r);
}

static void on_idle(void *arg)
{
	struct jupyter *j = arg;

	plug_ready(j->plug);
	if (j->current && j->current->state == CELL_DIED)
		answer_death(j, NULL);
	pump(j);
}

static void on_done(void *arg)
{
	struct jupyter *j = arg;
	struct cell_run *r = j->current;

	timer_cancel(loop_of(j), &j->limit);
	j->current = NULL;
	if (r)
		answer_cell(j, r);
}

static void on_died(void *arg, int status, bool busy)
{
	struct jupyter *j = arg;

	timer_cancel(loop_of(j), &j->limit);
	j->lost = true;
	if (!busy || !j->current)
		return;
	j->current->state = CELL_DIED;
	j->current->status = status;
}

static void on_none(void *arg, const char *why)
{
	struct jupyter *j = arg;

	plug_unavailable(j->plug, why);
	if (j->current && j->current->state != CELL_CALLS)
		answer_death(j, why);
	pump_calls(j);
}

static const struct driver_ops driver_ops = {
	.idle = on_idle,
	.done = on_done,
	.died = on_died,
	.none = on_none,
};

/* --- The action ------------------------------------------------------------- */

static int enqueue(struct jupyter *j, struct act *a, struct str code)
{
	struct cell_run *r = arena_alloc(a->arena, sizeof(*r));
	struct cell_run **end = &j->line;
	uint64_t ms = act_timeout_ms(a);

	if (!r)
		return -ENOMEM;
	*r = (struct cell_run){.jupyter = j, .act = a, .code = code};
	if (ms && timer_set(loop_of(j), &r->timer, ms, time_over) < 0)
		return -ENOMEM;
	while (*end)
		end = &(*end)->next;
	*end = r;
	j->line_n++;
	a->state = r;
	/* A Python may have been installed since the last look. */
	if (driver_state(j->driver) == DRIVER_NONE)
		driver_start(j->driver, shell_dir(j));
	pump(j);
	return ACT_WAIT;
}

static int run(struct act *a)
{
	struct plug *p =
		a->box->plugs ? plugs_find(a->box->plugs, &plugin_jupyter) : NULL;
	struct jupyter *j = p ? p->own : NULL;
	struct str code;

	if (!j) {
		a->why = "JupyterRequirement not found. Unable to run IPython action.";
		return ACT_FAIL;
	}
	if (arg_str(a, "code", str_make(NULL, 0), &code) < 0) {
		observe_error(a,
			STR("The run_ipython action needs the argument \"code\", a "
			    "string."));
		return ACT_DONE;
	}
	if (j->line_n >= CELLS_WAITING_MAX) {
		observe_error(a, STR("Too many cells are waiting for this kernel."));
		return ACT_DONE;
	}
	return enqueue(j, a, code);
}

static void limit_over(struct timer *t)
{
	struct jupyter *j = container_of(t, struct jupyter, limit);

	if (driver_state(j->driver) == DRIVER_BUSY && !j->current)
		driver_interrupt(j->driver);
}

/*
 * A cell that runs goes on until its own time is over. One without a limit is
 * interrupted: nobody could end it any more, and all others wait for it.
 */
static void abandon(struct act *a)
{
	struct cell_run *r = a->state;
	struct jupyter *j;
	uint64_t now, left = 0;

	if (!r)
		return;
	j = r->jupyter;
	now = loop_now(loop_of(j));
	if (r->timer.slot && r->timer.at > now)
		left = r->timer.at - now;
	timer_cancel(loop_of(j), &r->timer);
	unlink_run(j, r);
	if (r->state == CELL_CALLS) {
		native_stop(j->native);
		pump(j);
		pump_calls(j);
	}
	if (r->state != CELL_RUNS)
		return;
	/* It would look at the next cell. */
	timer_cancel(loop_of(j), &j->limit);
	if (!left || timer_set(loop_of(j), &j->limit, left, limit_over) < 0)
		driver_interrupt(j->driver);
}

static const struct action action_run_ipython = {
	.name = "run_ipython",
	.start = run,
	.abandon = abandon,
};

/* --- The plugin ------------------------------------------------------------- */

static struct jupyter *jupyter_new(struct plug *p)
{
	const struct shell_setup *setup = p->box->shell_setup;
	struct jupyter *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->plug = p;
	j->lost = p->box->again;
	buf_init(&j->prepare, KERNEL_PREPARE_MAX);
	buf_str(&j->prepare, skills_text());
	buf_puts(&j->prepare,
		plugs_asked(p->box->plugs, &plugin_agent_skills)
			? "install(sys.modules['__main__'].__dict__)\n"
			: "install()\n");
	if (!j->prepare.err)
		j->driver =
			driver_new(p->box->loop, setup->env, setup->user, &driver_ops, j);
	j->native = native_new(p->box->loop, setup->env, setup->user, calls_done, j);
	if (!j->driver || !j->native) {
		driver_del(j->driver);
		native_del(j->native);
		buf_free(&j->prepare);
		free(j);
		return NULL;
	}
	driver_prepare(j->driver, buf_view(&j->prepare));
	return j;
}

static int start(struct plug *p)
{
	struct jupyter *j = jupyter_new(p);

	if (!j)
		return -ENOMEM;
	p->own = j;
	driver_start(j->driver, shell_dir(j));
	return 0;
}

static void stop(struct plug *p)
{
	struct jupyter *j = p->own;
	struct cell_run *r = j->current;

	p->own = NULL;
	j->current = NULL;
	if (r && r->state == CELL_CALLS) {
		answer_words(j, r, "[The sandbox is stopping: the cell was ended.]");
	} else if (r) {
		cell_text(driver_cell(j->driver),
			STR("\n[The sandbox is stopping: the cell was ended.]"));
		answer_cell(j, r);
	}
	while (j->line) {
		r = j->line;
		unlink_run(j, r);
		answer_words(
			j, r, "[The sandbox is stopping: the cell was not executed.]");
	}
	timer_cancel(p->box->loop, &j->limit);
	native_del(j->native);
	driver_del(j->driver);
	buf_free(&j->prepare);
	free(j);
}

static void info(const struct plug *p, struct jw *w)
{
	const struct jupyter *j = p->own;

	if (!j || !driver_pid(j->driver))
		return;
	jw_key(w, "python");
	jw_cstr(w, driver_python(j->driver));
	jw_key(w, "version");
	jw_cstr(w, driver_version(j->driver));
	jw_key(w, "mode");
	jw_cstr(w, driver_mode(j->driver));
	if (driver_why(j->driver)[0]) {
		jw_key(w, "plain_because");
		jw_cstr(w, driver_why(j->driver));
	}
	jw_key(w, "pid");
	jw_int(w, driver_pid(j->driver));
	jw_key(w, "starts");
	jw_uint(w, driver_starts(j->driver));
}

static const struct action *const actions_of_it[] = {&action_run_ipython, NULL};

const struct plugin plugin_jupyter = {
	.name = "jupyter",
	.start = start,
	.stop = stop,
	.info = info,
	.actions = actions_of_it,
};
