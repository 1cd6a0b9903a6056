#include "plugin/cells.h"

#include "action/observe.h"
#include "action/session.h"
#include "base/float.h"
#include "limits.h"
#include "shell/shell.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

/* Between two checks whether the client is still connected. */
enum { CELL_LOOK_MS = 1000 };

enum { WORDS = 512 };

enum cell_state {
	CELL_WAITS, /* in the queue */
	CELL_RUNS,
	CELL_CALLS, /* runs without a kernel */
	CELL_DIED,  /* the kernel has died; answered after its restart */
};

/*
 * A cell without an answer so far. Lives in the arena of the request that waits for it.
 */
struct cell_run {
	struct list node; /* in the queue */
	enum cell_state state;
	struct cells *cells;
	struct act *act;
	struct str code;
	struct timer timer;
	int status; /* in CELL_DIED: the exit status of the kernel */
};

static struct loop *cells_loop(const struct cells *c)
{
	return c->box->loop;
}

/* The working directory of the first session's shell, else the sandbox's. */
static struct str cells_cwd(const struct cells *c)
{
	const struct box *box = c->box;
	struct str cwd = box->session ? session_cwd(box->session) : STR("");

	return cwd.n ? cwd : act_box_cwd(box);
}

/* --- Answers ---------------------------------------------------------------- */

/* images may be NULL. */
static void cells_write_observation(struct cells *c, struct cell_run *r,
	struct buf *content, const struct cell *images)
{
	struct act *a = r->act;
	struct str cwd = cells_cwd(c);
	struct jw w;

	content->n = cell_rstrip(buf_view(content)).n;
	if (act_arg_bool(a, "include_extra", true))
		buf_fmt(content,
			"\n[Jupyter current working directory: %.*s]"
			"\n[Jupyter Python interpreter: %s]",
			STR_ARG(cwd), c->runner->python);
	observe_begin(&w, a->out, "run_ipython", STR("Code executed in IPython cell."),
		buf_view(content));
	jw_key(&w, "code");
	jw_str(&w, r->code);
	/* Clients before 0.40 fail on image_urls; the default is null. */
	if (images && cell_has_images(images)) {
		jw_key(&w, "image_urls");
		cell_write_images(images, &w);
	}
	jw_end(&w);
	jw_key(&w, "success");
	jw_bool(&w, true);
	jw_end(&w);
}

static void cells_answer(struct cells *c, struct cell_run *r, struct buf *content,
	const struct cell *images)
{
	struct act *a = r->act;

	timer_cancel(cells_loop(c), &r->timer);
	cells_write_observation(c, r, content, images);
	a->state = NULL;
	a->done(a);
}

static void cells_answer_text(struct cells *c, struct cell_run *r, const char *words)
{
	struct buf content = BUF_INIT(OBSERVATION_MAX);

	buf_puts(&content, words);
	cells_answer(c, r, &content, NULL);
	buf_free(&content);
}

/* Answers with the output of the cell. */
static void cells_answer_content(
	struct cells *c, struct cell_run *r, const struct cell *cell)
{
	struct buf content = BUF_INIT(OBSERVATION_MAX);

	if (cell_write_content(cell, &content) < 0) {
		buf_reset(&content);
		buf_puts(&content, "[The output was lost: the server is out of memory.]");
	}
	cells_answer(c, r, &content, cell);
	buf_free(&content);
}

static void cells_answer_output(struct cells *c, struct cell_run *r)
{
	cells_answer_content(c, r, &c->runner->cell);
}

/* --- The queue ------------------------------------------------------------- */

static void cells_unlink_run(struct cells *c, struct cell_run *r)
{
	if (r == c->current) {
		c->current = NULL;
		return;
	}
	list_remove(&r->node);
	c->queue_n--;
}

static void cells_check_client(struct timer *t);

/* A cell without a limit delays all others, so it runs only while its client is there. */
static void cells_watch_client(struct cells *c)
{
	struct cell_run *r = c->current;

	if (!timer_is_armed(&r->timer) &&
		(r->act->is_disconnected || r->act->is_detached))
		timer_set(cells_loop(c), &c->limit, CELL_LOOK_MS, cells_check_client);
}

/* A client whose answer is kept may disconnect, unless other cells wait. */
static bool cells_is_abandoned(const struct cells *c, const struct act *a)
{
	return (a->is_disconnected && a->is_disconnected(a)) ||
		(!list_is_empty(&c->queue) && a->is_detached && a->is_detached(a));
}

static void cells_check_client(struct timer *t)
{
	struct cells *c = container_of(t, struct cells, limit);
	struct cell_run *r = c->current;

	if (!r || r->state != CELL_RUNS)
		return;
	if (!cells_is_abandoned(c, r->act)) {
		cells_watch_client(c);
		return;
	}
	cells_unlink_run(c, r);
	c->runner->kind->interrupt(c->runner);
	cells_answer_text(c, r, "[The cell was interrupted: the client has left.]");
}

/* The cell that waits for longest; NULL: there is none. */
static struct cell_run *cells_get_first(const struct cells *c)
{
	return LIST_FIRST(&c->queue, struct cell_run, node);
}

/* Starts the next cell, if there is one and the kernel is idle. */
static void cells_run_next(struct cells *c)
{
	struct cell_run *r;

	while (!c->current && (r = cells_get_first(c)) &&
		c->runner->state == RUNNER_IDLE) {
		int err;

		timer_cancel(cells_loop(c), &c->limit);
		cell_reset(&c->runner->cell);
		if (c->vars_lost)
			cell_put_text(&c->runner->cell,
				STR("[Kernel was restarted; variables were lost.]\n"));
		err = c->runner->kind->execute(c->runner, r->code, cells_cwd(c));
		if (err == -EAGAIN)
			return;
		cells_unlink_run(c, r);
		if (err == 0) {
			c->current = r;
			r->state = CELL_RUNS;
			c->vars_lost = false;
			cells_watch_client(c);
			return;
		}
		cells_answer_text(c, r, runner_memory_error);
	}
}

/* Runs the cells that wait while there is no kernel and none is being started. */
static void cells_run_calls(struct cells *c)
{
	char words[WORDS];
	struct cell_run *r;

	while (!c->current && (r = cells_get_first(c)) &&
		c->runner->state == RUNNER_NONE) {
		cells_unlink_run(c, r);
		c->current = r;
		r->state = CELL_CALLS;
		if (c->native && native_execute(c->native, r->code, cells_cwd(c)) == 0)
			return;
		c->current = NULL;
		snprintf(
			words, sizeof(words), "[The cell was not executed: %s.]", c->why);
		cells_answer_text(c, r, c->no_kernel_text ? c->no_kernel_text : words);
	}
}

void cells_on_calls_done(void *arg)
{
	struct cells *c = arg;
	struct cell_run *r = c->current;

	c->current = NULL;
	cells_answer_content(c, r, native_cell(c->native));
	cells_run_next(c);
	cells_run_calls(c);
}

static void cells_on_timeout(struct timer *t)
{
	struct cell_run *r = container_of(t, struct cell_run, timer);
	struct cells *c = r->cells;
	char seconds[FLOAT_TEXT], words[WORDS];
	const char *why = "";

	float_format(r->act->timeout, seconds);
	if (r->state == CELL_WAITS)
		why = c->runner->state == RUNNER_BUSY ||
				c->runner->state == RUNNER_STOPPING
			? "\n[The cell was not started: another one was running.]"
			: "\n[The cell was not started: the kernel was not ready.]";
	snprintf(words, sizeof(words), "[Execution timed out (%s seconds).]%s", seconds,
		why);
	cells_unlink_run(c, r);
	if (r->state == CELL_RUNS)
		c->runner->kind->interrupt(c->runner);
	if (r->state == CELL_CALLS)
		native_stop(c->native);
	cells_answer_text(c, r, words);
	cells_run_next(c);
	cells_run_calls(c);
}

/* --- Events of the kernel --------------------------------------------------- */

static void cells_put_death(struct buf *words, int status)
{
	if (WIFSIGNALED(status))
		buf_fmt(words, "[Kernel died (signal %d).", WTERMSIG(status));
	else
		buf_fmt(words, "[Kernel died (exit status %d).", WEXITSTATUS(status));
}

/*
 * why: NULL, or why there is no kernel now. The output of the cell is kept in the answer.
 */
static void cells_answer_death(struct cells *c, const char *why)
{
	struct cell_run *r = c->current;
	struct cell *cell = &c->runner->cell;
	struct buf words = BUF_INIT(WORDS * 4);
	struct str before = buf_view(cell->tail.n ? &cell->tail : &cell->head);

	if (before.n && before.p[before.n - 1] != '\n')
		buf_putc(&words, '\n');
	cells_put_death(&words, r->status);
	if (why)
		buf_fmt(&words, " It could not be restarted: %s.]", why);
	else
		buf_puts(&words, " It was restarted; all variables were lost.]");
	cell_put_text(cell, buf_view(&words));
	buf_free(&words);
	c->current = NULL;
	c->vars_lost = false;
	cells_answer_output(c, r);
}

static void cells_on_idle(void *arg)
{
	struct cells *c = arg;

	c->why[0] = '\0';
	if (c->plug)
		plugin_mark_ready(c->plug);
	if (c->current && c->current->state == CELL_DIED)
		cells_answer_death(c, NULL);
	cells_run_next(c);
}

static void cells_on_done(void *arg)
{
	struct cells *c = arg;
	struct cell_run *r = c->current;

	timer_cancel(cells_loop(c), &c->limit);
	c->current = NULL;
	c->done_n++;
	rich_move(&c->rich, &c->runner->cell.rich);
	if (r)
		cells_answer_output(c, r);
}

static void cells_on_died(void *arg, int status, bool busy)
{
	struct cells *c = arg;

	timer_cancel(cells_loop(c), &c->limit);
	c->vars_lost = true;
	if (!busy || !c->current)
		return;
	c->current->state = CELL_DIED;
	c->current->status = status;
}

static void cells_on_none(void *arg, const char *why)
{
	struct cells *c = arg;

	snprintf(c->why, sizeof(c->why), "%s", why);
	if (c->plug)
		plugin_mark_unavailable(c->plug, why);
	if (c->current && c->current->state != CELL_CALLS)
		cells_answer_death(c, why);
	cells_run_calls(c);
}

const struct runner_ops cells_ops = {
	.idle = cells_on_idle,
	.done = cells_on_done,
	.died = cells_on_died,
	.none = cells_on_none,
};

/* --- Start and end ---------------------------------------------------------- */

void cells_start(struct cells *c)
{
	if (c->runner->state == RUNNER_NONE)
		c->runner->kind->start(c->runner, cells_cwd(c));
}

int cells_run(struct cells *c, struct act *a, struct str code)
{
	struct cell_run *r = arena_alloc(a->arena, sizeof(*r));
	uint64_t ms = act_timeout_ms(a);

	if (!r)
		return -ENOMEM;
	if (c->queue_n >= CELLS_WAITING_MAX) {
		observe_error(a, STR("Too many cells are waiting for this kernel."));
		return ACT_DONE;
	}
	*r = (struct cell_run){.cells = c, .act = a, .code = code};
	if (ms)
		timer_set(cells_loop(c), &r->timer, ms, cells_on_timeout);
	list_append(&c->queue, &r->node);
	c->queue_n++;
	a->state = r;
	/* A program that was missing may have been installed since the last start. */
	cells_start(c);
	cells_run_next(c);
	return ACT_WAIT;
}

static void cells_on_limit(struct timer *t)
{
	struct cells *c = container_of(t, struct cells, limit);

	if (c->runner->state == RUNNER_BUSY && !c->current)
		c->runner->kind->interrupt(c->runner);
}

/*
 * A running cell continues until its own time limit. A cell without a limit is
 * interrupted: no client could end it any more, and all others wait for it.
 */
void cells_abandon(struct act *a)
{
	struct cell_run *r = a->state;
	struct cells *c;
	uint64_t now, left = 0;

	if (!r)
		return;
	c = r->cells;
	now = loop_now(cells_loop(c));
	if (timer_is_armed(&r->timer) && r->timer.at > now)
		left = r->timer.at - now;
	timer_cancel(cells_loop(c), &r->timer);
	cells_unlink_run(c, r);
	if (r->state == CELL_CALLS) {
		native_stop(c->native);
		cells_run_next(c);
		cells_run_calls(c);
	}
	if (r->state != CELL_RUNS)
		return;
	/* The timer would otherwise check the client of the next cell. */
	timer_cancel(cells_loop(c), &c->limit);
	if (left)
		timer_set(cells_loop(c), &c->limit, left, cells_on_limit);
	else
		c->runner->kind->interrupt(c->runner);
}

void cells_cancel(struct act *a)
{
	struct cell_run *r = a->state;

	if (!r)
		return;
	timer_cancel(cells_loop(r->cells), &r->timer);
	cells_abandon(a);
}

int cells_stop(struct act *a, enum act_stop how)
{
	struct cell_run *r = a->state;
	struct runner *runner;

	if (!r || r->state != CELL_RUNS)
		return ERR_CLOSED;
	/* The end of the cell or of the kernel answers the action. */
	runner = r->cells->runner;
	if (how == ACT_STOP_KILL)
		runner->kind->stop(runner);
	else if (runner->state == RUNNER_BUSY)
		runner->kind->send_interrupt(runner);
	return 0;
}

void cells_end(struct cells *c)
{
	struct cell_run *r = c->current;

	c->current = NULL;
	if (r && r->state == CELL_CALLS) {
		cells_answer_text(c, r, "[The sandbox is stopping: the cell was ended.]");
	} else if (r) {
		cell_put_text(&c->runner->cell,
			STR("\n[The sandbox is stopping: the cell was ended.]"));
		cells_answer_output(c, r);
	}
	while ((r = cells_get_first(c))) {
		cells_unlink_run(c, r);
		cells_answer_text(
			c, r, "[The sandbox is stopping: the cell was not executed.]");
	}
	timer_cancel(cells_loop(c), &c->limit);
	native_del(c->native);
	c->runner->kind->del(c->runner);
	rich_free(&c->rich);
}
