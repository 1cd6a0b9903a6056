#include "loop/loop.h"

#include "base/clock.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

static struct loop *loop;

static void begin(void)
{
	int err = 0;

	loop = loop_new(&err);
	if (!loop) {
		printf("Bail out! no loop: %s\n", err_text(err));
		exit(1);
	}
}

static void run(void)
{
	is_int(loop_run(loop), 0, "the loop ran");
}

enum { MANY = 500 };

struct alarm {
	struct timer t;
	int id;
};

static struct alarm alarms[MANY];
static int fired[MANY * 2];
static int fired_n;

static void on_alarm(struct timer *t)
{
	fired[fired_n++] = container_of(t, struct alarm, t)->id;
}

static void on_last(struct timer *t)
{
	(void)t;
	loop_stop(loop);
}

static void arm(int id, uint64_t ms)
{
	alarms[id].id = id;
	timer_set(loop, &alarms[id].t, ms, on_alarm);
}

static void run_for(uint64_t ms)
{
	struct timer last = {0};

	timer_set(loop, &last, ms, on_last);
	run();
}

static void test_timers(void)
{
	uint64_t start = clock_ms();
	struct timer never = {0};

	begin();
	fired_n = 0;
	memset(alarms, 0, sizeof(alarms));
	arm(0, 9);
	arm(1, 3);
	arm(2, 6);
	arm(3, 4);
	arm(4, 1);
	timer_cancel(loop, &alarms[3].t);
	timer_cancel(loop, &alarms[3].t);
	timer_cancel(loop, &never);
	arm(4, 7);
	run_for(12);
	is_int(fired_n, 4, "four fire, once each");
	is_int(fired[0], 1, "the earliest first");
	is_int(fired[1], 2, "the next");
	is_int(fired[2], 4, "the re-armed one by its last deadline");
	is_int(fired[3], 0, "the latest last");
	ok(clock_ms() - start >= 12, "none before its time");
	ok(loop_now(loop) >= start, "loop_now moves");
	loop_del(loop);
}

/* Random operations against a model: a sorted array of the timers that are armed. */

enum { MODEL_SEED = 20261, MODEL_OPS = 100000 };

static struct alarm *model[MANY];
static unsigned model_n, model_seed;
static bool model_agrees, model_drains;

static unsigned model_random(unsigned n)
{
	model_seed = model_seed * 1103515245 + 12345;
	return (model_seed >> 16) % n;
}

/* Whether the model contained a. */
static bool model_remove(const struct alarm *a)
{
	unsigned i = 0;

	while (i < model_n && model[i] != a)
		i++;
	if (i == model_n)
		return false;
	model_n--;
	memmove(&model[i], &model[i + 1], (model_n - i) * sizeof(*model));
	return true;
}

static void model_on_alarm(struct timer *t);

/* Cancels, sets or moves a. */
static void model_change(struct alarm *a)
{
	unsigned i;
	bool armed = timer_is_armed(&a->t);

	model_agrees &= model_remove(a) == armed;
	if (model_random(4) == 0) {
		timer_cancel(loop, &a->t);
		model_agrees &= !timer_is_armed(&a->t);
		return;
	}
	timer_set(loop, &a->t, model_random(2) * model_random(64), model_on_alarm);
	for (i = model_n++; i > 0 && model[i - 1]->t.at > a->t.at; i--)
		model[i] = model[i - 1];
	model[i] = a;
}

static void model_on_alarm(struct timer *t)
{
	struct alarm *a = container_of(t, struct alarm, t);

	model_agrees &= model_n && model[0]->t.at == t->at && !timer_is_armed(t);
	model_agrees &= model_remove(a);
	fired_n++;
	if (!model_drains && model_random(2))
		model_change(model_random(2) ? a : &alarms[model_random(MANY)]);
}

static void test_random_operations(void)
{
	struct timer last = {0};

	begin();
	fired_n = 0;
	memset(alarms, 0, sizeof(alarms));
	model_seed = MODEL_SEED;
	model_agrees = true;
	printf("# seed %d\n", MODEL_SEED);
	for (int i = 0; i < MODEL_OPS; i++) {
		model_change(&alarms[model_random(MANY)]);
		if (model_random(50))
			continue;
		timer_set(loop, &last, 0, on_last);
		model_agrees &= loop_run(loop) == 0;
	}
	ok(fired_n > MODEL_OPS / 10, "timers fire between the operations");
	model_drains = true;
	run_for(64);
	is_int(model_n, 0, "each armed timer fires");
	ok(model_agrees, "timers fire once, in the order of their deadlines");
	for (int i = 0; i < MANY; i++)
		model_agrees &= !timer_is_armed(&alarms[i].t);
	ok(model_agrees, "no timer is armed after the last deadline");
	loop_del(loop);
}

static void on_cancels(struct timer *t)
{
	fired[fired_n++] = container_of(t, struct alarm, t)->id;
	timer_cancel(loop, &alarms[1].t);
	arm(2, 0);
}

static void test_timers_in_callbacks(void)
{
	begin();
	fired_n = 0;
	memset(alarms, 0, sizeof(alarms));
	alarms[0].id = 0;
	timer_set(loop, &alarms[0].t, 1, on_cancels);
	arm(1, 2);
	/* Both are due when the loop looks. */
	while (clock_ms() <= alarms[1].t.at)
		;
	run_for(0);
	if (fired_n == 1)
		run_for(1);
	is_int(fired_n, 2, "a due timer can still be cancelled by another");
	is_int(fired[1], 2, "and one be set");
	loop_del(loop);
}

int main(void)
{
	test_timers();
	test_random_operations();
	test_timers_in_callbacks();
	return done_testing();
}
