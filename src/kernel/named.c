#include "kernel/named.h"

#include "base/log.h"
#include "kernel/cell_message.h"
#include "kernel/kernel.h"
#include "kernel/python.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMED_WORDS = 256, NAMED_TRIES = 3, NAMED_REFUSALS = 20 };

/* The code that the kernel executes while the runner is BUSY or STOPPING. */
enum step { STEP_CHDIR, STEP_CELL };

/* Languages for which code is sent besides the cells. */
static const struct language {
	const char *name;
	/* Executed first; the first line of its output is the interpreter. */
	const char *greeting;
	/* The code before and after a directory, whose JSON text is a valid literal. */
	const char *chdir, *chdir_end;
} languages[] = {
	{"python", "print(__import__('sys').executable)\n%colors nocolor",
		"__import__('os').chdir(", ")"},
	{"R", NULL, "invisible(setwd(", "))"},
};

struct named {
	struct runner runner;
	struct loop *loop;
	const char *const *env;
	const struct spawn_user *user;
	struct str prepare;
	char name[KERNELSPEC_NAME_MAX + 2]; /* space to detect longer names */

	struct arena memory; /* of the kernelspec */
	struct kernelspec spec;
	const struct language *language; /* or NULL */
	struct kernel kernel;
	struct timer timer;
	unsigned interrupts;
	unsigned tries;
	unsigned refusals; /* of the current cell */

	struct cell greeting; /* its output */
	enum step step;
	struct buf code; /* the cell's code */
	char cwd[FILE_PATH_MAX];
};

static struct named *named_of_runner(struct runner *r)
{
	return container_of(r, struct named, runner);
}

static struct named *named_of_kernel(struct kernel *k)
{
	return container_of(k, struct named, kernel);
}

static void named_on_pause_end(struct timer *t);
static void named_on_load_timeout(struct timer *t);
static void named_escalate_interrupt(struct timer *t);

static void named_enter(struct named *n, enum runner_state to)
{
	static const uint64_t patience[] = {
		[RUNNER_LOADING] = RUNNER_START_MS,
		[RUNNER_STOPPING] = RUNNER_INTERRUPT_MS,
	};
	static timer_fn *const late[] = {
		[RUNNER_PAUSED] = named_on_pause_end,
		[RUNNER_LOADING] = named_on_load_timeout,
		[RUNNER_STOPPING] = named_escalate_interrupt,
	};
	uint64_t ms;

	runner_enter(&n->runner, to);
	timer_cancel(n->loop, &n->timer);
	if (to >= ARRAY_LEN(late) || !late[to])
		return;
	ms = to == RUNNER_PAUSED ? n->runner.pause : patience[to];
	timer_set(n->loop, &n->timer, ms, late[to]);
}

/* An ending kernel gets no cell. The caller has the result of the last one. */
static void named_set_idle(struct named *n)
{
	if (n->kernel.state == KERNEL_IDLE) {
		named_enter(n, RUNNER_IDLE);
		n->runner.ops->idle(n->runner.arg);
	} else if (n->runner.state == RUNNER_BUSY) {
		named_enter(n, RUNNER_STOPPING);
	}
}

/* --- Its messages ----------------------------------------------------------------- */

/* The cell that receives the current output; NULL: the output is dropped. */
static struct cell *named_output_cell(struct named *n)
{
	if (n->runner.state == RUNNER_LOADING)
		return &n->greeting;
	return n->runner.state == RUNNER_BUSY && n->step == STEP_CELL ? &n->runner.cell
								      : NULL;
}

static void named_on_message(struct kernel *k, const struct jmsg *m, struct arena *a)
{
	struct cell *cell = named_output_cell(named_of_kernel(k));

	if (cell)
		cell_put_message(cell, m, a);
}

static void named_on_lost(struct kernel *k, uint64_t bytes)
{
	struct cell *cell = named_output_cell(named_of_kernel(k));
	char words[NAMED_WORDS];

	snprintf(words, sizeof(words),
		"\n[A message of %llu bytes was left out: it could not be taken.]\n",
		(unsigned long long)bytes);
	if (cell)
		cell_put_text(cell, str_c(words));
}

static void named_on_silent(struct kernel *k)
{
	log_warn(
		"kernel %s: no answer while a cell is running", named_of_kernel(k)->name);
}

/* --- Cells ------------------------------------------------------------------------ */

/* Stores the interpreter, the first line of the greeting's output. */
static void named_store_python(struct named *n)
{
	struct str said = buf_view(&n->greeting.head);
	struct str line = str_trim(str_cut(&said, '\n'), " \t\r");

	snprintf(n->runner.python, sizeof(n->runner.python), "%.*s",
		(int)(line.n < sizeof(n->runner.python) ? line.n : 0), line.p);
	cell_reset(&n->greeting);
}

static void named_finish_cell(struct named *n, enum jmsg_outcome outcome)
{
	buf_free(&n->code);
	if (outcome == JMSG_ABORTED)
		cell_put_text(
			&n->runner.cell, STR("[The kernel did not execute the cell.]"));
	n->runner.pause = 0;
	n->runner.ops->done(n->runner.arg);
	cell_reset(&n->runner.cell);
}

/* Runs the cell, whether or not its directory could be entered. */
static void named_run_cell(struct named *n)
{
	/* If the kernel is not idle, its end is reported next. */
	if (n->kernel.state != KERNEL_IDLE)
		return;
	n->step = STEP_CELL;
	if (kernel_run(&n->kernel, buf_view(&n->code)) == 0)
		return;
	cell_put_text(&n->runner.cell, str_c(runner_memory_error));
	named_finish_cell(n, JMSG_OK);
	named_set_idle(n);
}

static void named_on_retry(struct timer *t)
{
	named_run_cell(container_of(t, struct named, timer));
}

/*
 * For some time after an error some kernels abort each request. True: the cell is sent
 * again after a delay.
 */
static bool named_retry_cell(struct named *n, enum jmsg_outcome outcome)
{
	if (outcome != JMSG_ABORTED || n->kernel.state != KERNEL_IDLE ||
		n->refusals++ >= NAMED_REFUSALS)
		return false;
	timer_set(n->loop, &n->timer, KERNEL_REFUSED_MS, named_on_retry);
	return true;
}

static void named_on_done(struct kernel *k, enum jmsg_outcome outcome)
{
	struct named *n = named_of_kernel(k);

	if (n->runner.state == RUNNER_BUSY && n->step == STEP_CHDIR) {
		named_run_cell(n);
		return;
	}
	if (n->runner.state == RUNNER_LOADING && k->state == KERNEL_IDLE)
		named_store_python(n);
	else if (n->runner.state == RUNNER_BUSY && named_retry_cell(n, outcome))
		return;
	else if (n->runner.state == RUNNER_BUSY)
		named_finish_cell(n, outcome);
	named_set_idle(n);
}

static void named_put_chdir(const struct named *n, struct str cwd, struct buf *out)
{
	struct jw w;

	buf_puts(out, n->language->chdir);
	jw_init(&w, out);
	jw_str(&w, cwd);
	buf_puts(out, n->language->chdir_end);
}

static int named_execute(struct runner *runner, struct str code, struct str cwd)
{
	struct named *n = named_of_runner(runner);
	bool moves = n->language && cwd.n < sizeof(n->cwd) && !str_eq(cwd, str_c(n->cwd));
	struct buf enter_cwd = BUF_INIT(8 * FILE_PATH_MAX);
	int r;

	if (n->kernel.state != KERNEL_IDLE)
		return -EAGAIN;
	buf_str(&n->code, code);
	if (moves)
		named_put_chdir(n, cwd, &enter_cwd);
	r = n->code.err ? n->code.err : enter_cwd.err;
	r = r ? r : kernel_run(&n->kernel, moves ? buf_view(&enter_cwd) : code);
	buf_free(&enter_cwd);
	if (r) {
		buf_free(&n->code);
		buf_reset(&n->code);
		return r;
	}
	n->step = moves ? STEP_CHDIR : STEP_CELL;
	n->refusals = 0;
	if (moves)
		snprintf(n->cwd, sizeof(n->cwd), "%.*s", STR_ARG(cwd));
	named_enter(n, RUNNER_BUSY);
	return 0;
}

static void named_send_interrupt(struct runner *r)
{
	kernel_interrupt(&named_of_runner(r)->kernel);
}

static void named_interrupt(struct runner *r)
{
	struct named *n = named_of_runner(r);

	named_enter(n, RUNNER_STOPPING);
	cell_reset(&r->cell);
	/* A cell that is still waiting is not run any more. */
	buf_free(&n->code);
	n->interrupts = 1;
	named_send_interrupt(r);
	/* If the kernel is idle it has refused the cell, which is not sent again. */
	if (n->kernel.state == KERNEL_IDLE)
		timer_set(n->loop, &n->timer, 0, named_escalate_interrupt);
}

/* Interrupts a second time, then kills the kernel. */
static void named_escalate_interrupt(struct timer *t)
{
	struct named *n = container_of(t, struct named, timer);

	if (n->kernel.state == KERNEL_IDLE) {
		named_set_idle(n);
		return;
	}
	if (n->interrupts++ == 1) {
		named_send_interrupt(&n->runner);
		timer_set(n->loop, &n->timer, RUNNER_KILL_MS, named_escalate_interrupt);
		return;
	}
	log_info(
		"kernel %s: a cell does not react to interrupts, so the kernel is killed",
		n->name);
	kernel_kill(&n->kernel);
}

/* --- End of the kernel ------------------------------------------------------------ */

static void named_abandon_start(struct named *n, const char *why)
{
	char words[NAMED_WORDS];

	snprintf(words, sizeof(words), "kernel %s: %s", n->name, why);
	log_warn("%s", words);
	timer_cancel(n->loop, &n->timer);
	runner_enter(&n->runner, RUNNER_NONE);
	n->runner.ops->none(n->runner.arg, words);
}

/* Another process may have taken a TCP port: the next start chooses other ports. */
static void named_retry_start(struct named *n, const char *why)
{
	cell_reset(&n->greeting);
	if (n->spec.by_ipc || ++n->tries >= NAMED_TRIES) {
		named_abandon_start(n, why);
		return;
	}
	n->runner.pause = RUNNER_PAUSE_MS;
	named_enter(n, RUNNER_PAUSED);
}

static void named_on_ended(struct kernel *k, const char *why, int status)
{
	struct named *n = named_of_kernel(k);
	enum runner_state state = n->runner.state;

	n->runner.pid = 0;
	buf_free(&n->code);
	if (state == RUNNER_STARTING || state == RUNNER_LOADING) {
		named_retry_start(
			n, state == RUNNER_LOADING ? "it was not ready in time" : why);
		return;
	}
	log_warn("kernel %s: %s (status %d) and is started again", n->name, why, status);
	runner_set_pause(&n->runner);
	n->runner.ops->died(n->runner.arg, status, state == RUNNER_BUSY);
	n->tries = 0;
	named_enter(n, RUNNER_PAUSED);
}

static void named_on_load_timeout(struct timer *t)
{
	kernel_kill(&container_of(t, struct named, timer)->kernel);
}

static void named_stop(struct runner *r)
{
	struct kernel *k = &named_of_runner(r)->kernel;

	/* A busy kernel handles a shutdown request only after its cell. */
	if (k->state == KERNEL_IDLE)
		kernel_stop(k);
	else if (r->pid)
		kernel_kill(k);
}

/* --- The start -------------------------------------------------------------------- */

/*
 * Sends the greeting and then prepare, in a namespace of its own. A JSON text is a
 * valid literal.
 */
static int named_send_greeting(struct named *n)
{
	struct buf code = BUF_INIT(KERNEL_PREPARE_MAX * 2);
	struct jw w;
	int r;

	buf_puts(&code, n->language->greeting);
	buf_puts(&code, "\nexec(compile(");
	jw_init(&w, &code);
	jw_str(&w, n->prepare);
	buf_puts(&code, ",'<skills>','exec'),{'__name__':'agentskills'})");
	r = code.err ? code.err : kernel_run(&n->kernel, buf_view(&code));
	buf_free(&code);
	return r;
}

static void named_on_ready(struct kernel *k)
{
	struct named *n = named_of_kernel(k);

	named_enter(n, RUNNER_LOADING);
	log_info("kernel %s: %.*s, process %d", n->name, STR_ARG(n->spec.display),
		(int)n->runner.pid);
	if (!n->language || !n->language->greeting)
		named_set_idle(n);
	else if (named_send_greeting(n))
		kernel_kill(k);
}

/* The PREFIX of PREFIX/bin/python; NULL if memory is short. */
static const char *named_python_prefix(const char *python, struct arena *a)
{
	struct str s = str_c(python);

	for (int slashes = 0; s.n > 0 && slashes < 2; s.n--)
		slashes += s.p[s.n - 1] == '/';
	return arena_cstr(a, s);
}

static int named_find_spec_in(struct named *n, const char *prefix, const char **why)
{
	struct kernelspec_places places = {n->env, prefix};
	struct str name = str_c(n->name);
	int r = kernelspec_find(&places, name, &n->memory, &n->spec, why);

	if (r == -ENOENT && str_eq(name, STR("python")))
		r = kernelspec_find(&places, STR("python3"), &n->memory, &n->spec, why);
	return r;
}

/* Searches the folders of the system and of each installed Python. */
static int named_find_spec(struct named *n, const char **why)
{
	const char *list[PYTHONS_MAX], *first = NULL;
	size_t pythons;
	int r;

	arena_reset(&n->memory);
	pythons = python_list(n->env, &n->memory, list);
	r = named_find_spec_in(n, NULL, why);
	for (size_t i = 0; r == -ENOENT && i < pythons; i++) {
		const char *prefix = named_python_prefix(list[i], &n->memory);

		if (!prefix)
			return -ENOMEM;
		first = first ? first : prefix;
		r = named_find_spec_in(n, prefix, why);
	}
	if (r == -ENOENT && first &&
		(!strcmp(n->name, "python") || !strcmp(n->name, "python3")))
		r = kernelspec_python(first, &n->memory, &n->spec);
	return r;
}

static const struct language *named_find_language(const struct kernelspec *spec)
{
	for (size_t i = 0; i < ARRAY_LEN(languages); i++)
		if (str_eq_nocase(spec->language, str_c(languages[i].name)))
			return &languages[i];
	return NULL;
}

static const struct kernel_events events = {
	.ready = named_on_ready,
	.message = named_on_message,
	.lost = named_on_lost,
	.done = named_on_done,
	.silent = named_on_silent,
	.ended = named_on_ended,
};

/*
 * Tries several folders: not every image has the usual one or allows to create a folder
 * in it.
 */
static int named_launch(struct named *n)
{
	static const char *const folders[] = {"/tmp", "/dev/shm", "/run", "/var/tmp"};
	struct kernel_setup setup = {
		.loop = n->loop,
		.events = &events,
		.spec = &n->spec,
		.env = n->env,
		.user = n->user,
		.cwd = n->cwd,
		.start_ms = RUNNER_START_MS,
	};
	int r = -ENOENT;

	for (size_t i = 0; r && i < ARRAY_LEN(folders); i++) {
		setup.tmp = folders[i];
		kernel_free(&n->kernel);
		kernel_init(&n->kernel, &setup);
		r = kernel_start(&n->kernel);
	}
	return r;
}

static void named_on_pause_end(struct timer *t)
{
	struct named *n = container_of(t, struct named, timer);
	const char *why = "";
	int r = named_find_spec(n, &why);

	if (r) {
		named_abandon_start(n, why[0] ? why : err_text(r));
		return;
	}
	n->language = named_find_language(&n->spec);
	named_enter(n, RUNNER_STARTING);
	r = named_launch(n);
	if (r) {
		named_abandon_start(n,
			r == -ENOENT
				? "its program, or a folder for its sockets, is missing"
				: err_text(r));
		return;
	}
	n->runner.pid = n->kernel.service.pid;
	n->runner.starts++;
}

static void named_start(struct runner *r, struct str cwd)
{
	struct named *n = named_of_runner(r);

	snprintf(n->cwd, sizeof(n->cwd), "%.*s", STR_ARG(cwd));
	r->pause = 0;
	n->tries = 0;
	named_enter(n, RUNNER_PAUSED);
}

/* --- The object ------------------------------------------------------------------- */

static void named_write_info(const struct runner *r, struct jw *w)
{
	const struct named *n = container_of(r, struct named, runner);

	jw_key(w, "python");
	jw_cstr(w, r->python);
	jw_key(w, "kernelspec");
	jw_cstr(w, n->spec.folder);
	jw_key(w, "display_name");
	jw_str(w, n->spec.display);
	jw_key(w, "language");
	jw_str(w, n->spec.language);
}

static void named_del(struct runner *r)
{
	struct named *n = named_of_runner(r);

	kernel_free(&n->kernel);
	timer_cancel(n->loop, &n->timer);
	cell_free(&r->cell);
	cell_free(&n->greeting);
	buf_free(&n->code);
	arena_reset(&n->memory);
	free(n);
}

static const struct runner_kind kind = {
	.start = named_start,
	.execute = named_execute,
	.interrupt = named_interrupt,
	.send_interrupt = named_send_interrupt,
	.stop = named_stop,
	.info = named_write_info,
	.del = named_del,
};

struct runner *named_new(struct loop *l, const char *const *env,
	const struct spawn_user *user, struct str name, struct str prepare,
	const struct runner_ops *ops, void *arg)
{
	struct named *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	*n = (struct named){
		.loop = l,
		.env = env,
		.user = user,
		.prepare = prepare,
		.code = BUF_INIT(JMSG_OUT_MAX),
	};
	/* A name that is too long is invalid and is refused by kernelspec_find. */
	snprintf(n->name, sizeof(n->name), "%.*s", STR_ARG(name));
	runner_init(&n->runner, &kind, ops, arg);
	cell_init(&n->greeting);
	arena_init(&n->memory, IDENTITY_MEMORY_MAX);
	kernel_init(&n->kernel, &(struct kernel_setup){.loop = l});
	return &n->runner;
}
