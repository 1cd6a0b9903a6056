#include "base/list.h"
#include "base/wait_queue.h"

#include "tests/tap.h"

#include <stdint.h>

enum { ITEMS = 16, STEPS = 20000 };

struct item {
	int number;
	struct list node;
};

/* The numbers of a list, forwards; the links backwards must agree with them. */
static const char *numbers(const struct list *head)
{
	static char text[256];
	const struct list *back = head;
	size_t n = 0;

	text[0] = '\0';
	LIST_EACH (const struct item, i, head, node) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%d ", i->number);
		if (i->node.prev != back)
			return "the links backwards differ";
		back = &i->node;
	}
	return text;
}

static void test_operations(void)
{
	struct list head = {0};
	struct item a = {.number = 1}, b = {.number = 2}, c = {.number = 3};

	ok(list_is_empty(&head), "a zeroed list is empty");
	ok(!list_first(&head), "an empty list has no first node");
	ok(!LIST_FIRST(&head, struct item, node), "an empty list has no first element");
	list_remove(&a.node);
	list_append(&head, &a.node);
	list_append(&head, &b.node);
	is_str(numbers(&head), "1 2 ", "list_append adds at the end");
	list_prepend(&head, &c.node);
	is_str(numbers(&head), "3 1 2 ", "list_prepend adds at the front");
	ok(LIST_NEXT(&a, struct item, node) == &b, "LIST_NEXT returns the element after");
	ok(!list_next(&b.node), "the last node has none after it");
	is_int(list_count(&head), 3, "list_count counts the elements");
	list_remove(&a.node);
	is_str(numbers(&head), "3 2 ", "list_remove removes an element");
	list_remove(&a.node);
	is_str(numbers(&head), "3 2 ", "a second removal has no effect");
	list_insert_after(&c.node, &a.node);
	is_str(numbers(&head), "3 1 2 ", "list_insert_after adds after another node");
	list_remove(&a.node);
	list_insert_after(&b.node, &a.node);
	is_str(numbers(&head), "3 2 1 ", "list_insert_after adds after the last node");
	list_remove(&a.node);
	list_remove(&b.node);
	list_remove(&c.node);
	ok(list_is_empty(&head), "a list without its elements is empty");
	is_int(list_count(&head), 0, "an empty list has no elements");
	list_prepend(&head, &b.node);
	is_str(numbers(&head), "2 ", "an emptied list takes elements again");
	list_remove(&b.node);
	memset(&head, 'x', sizeof(head));
	memset(&a.node, 'x', sizeof(a.node));
	list_init(&head);
	list_init(&a.node);
	ok(list_is_empty(&head), "list_init makes an empty list");
	list_remove(&a.node);
	list_append(&head, &a.node);
	is_str(numbers(&head), "1 ", "list_init makes a node that is in no list");
}

static void test_removal_in_iteration(void)
{
	struct list head = {0}, odd = {0};
	struct item items[6] = {0};

	for (int i = 0; i < 6; i++) {
		items[i].number = i;
		list_append(&head, &items[i].node);
	}
	LIST_EACH (struct item, i, &head, node) {
		if (i->number % 2 == 0)
			continue;
		list_remove(&i->node);
		list_prepend(&odd, &i->node);
	}
	is_str(numbers(&head), "0 2 4 ", "an iteration can remove its element");
	is_str(numbers(&odd), "5 3 1 ", "an iteration can move its element");
	LIST_EACH (struct item, i, &head, node)
		list_remove(&i->node);
	ok(list_is_empty(&head), "an iteration can remove all elements");
}

/* --- Comparison with an array -------------------------------------------------- */

static struct item pool[ITEMS];
static struct item *model[ITEMS];
static size_t model_n;

static void model_insert(size_t at, struct item *i)
{
	memmove(model + at + 1, model + at, (model_n - at) * sizeof(*model));
	model[at] = i;
	model_n++;
}

static void model_remove(const struct item *i)
{
	size_t at = 0;

	while (at < model_n && model[at] != i)
		at++;
	if (at == model_n)
		return;
	model_n--;
	memmove(model + at, model + at + 1, (model_n - at) * sizeof(*model));
}

static bool model_has(const struct item *i)
{
	for (size_t at = 0; at < model_n; at++)
		if (model[at] == i)
			return true;
	return false;
}

static bool model_agrees(const struct list *head)
{
	const struct list *before = head;
	size_t n = 0;

	LIST_EACH (const struct item, i, head, node) {
		if (n == model_n || model[n] != i || i->node.prev != before)
			return false;
		before = &i->node;
		n++;
	}
	return n == model_n && list_count(head) == n;
}

static void test_model(void)
{
	struct list head = {0};
	uint32_t seed = 20240229;
	bool good = true;

	for (unsigned step = 0; step < STEPS && good; step++) {
		struct item *i;
		size_t at;

		seed = seed * 1664525 + 1013904223;
		i = &pool[(seed >> 8) % ITEMS];
		at = model_n ? (seed >> 16) % model_n : 0;
		if (model_has(i) || seed >> 30 == 0) {
			list_remove(&i->node);
			model_remove(i);
		} else if (seed >> 30 == 1) {
			list_append(&head, &i->node);
			model_insert(model_n, i);
		} else if (seed >> 30 == 2 || !model_n) {
			list_prepend(&head, &i->node);
			model_insert(0, i);
		} else {
			list_insert_after(&model[at]->node, &i->node);
			model_insert(at + 1, i);
		}
		good = model_agrees(&head);
	}
	ok(good, "%d random steps agree with an array", STEPS);
}

/* --- Wait queues --------------------------------------------------------------- */

struct caller {
	struct waiter waiter;
	char name;
	struct caller *add, *add_first, *remove;
	bool nested; /* wakes the queue once */
};

static struct wait_queue queue;
static char calls[32];

static void on_wake(struct waiter *w)
{
	struct caller *c = (struct caller *)w;

	strncat(calls, &c->name, 1);
	if (c->add)
		wait_queue_append(&queue, &c->add->waiter);
	if (c->add_first)
		wait_queue_prepend(&queue, &c->add_first->waiter);
	if (c->remove)
		wait_queue_remove(&queue, &c->remove->waiter);
	c->add = c->add_first = c->remove = NULL;
	if (c->nested) {
		c->nested = false;
		wait_queue_wake_all(&queue);
	}
}

static const char *wake(void)
{
	memset(calls, 0, sizeof(calls));
	wait_queue_wake_all(&queue);
	return calls;
}

static void test_wait_queue(void)
{
	struct caller a = {.waiter.fn = on_wake, .name = 'a'};
	struct caller b = {.waiter.fn = on_wake, .name = 'b'};
	struct caller c = {.waiter.fn = on_wake, .name = 'c'};
	struct caller d = {.waiter.fn = on_wake, .name = 'd'};

	is_str(wake(), "", "an empty queue has no waiter to call");
	ok(wait_queue_is_empty(&queue), "a zeroed queue is empty");
	wait_queue_append(&queue, &b.waiter);
	wait_queue_append(&queue, &c.waiter);
	wait_queue_prepend(&queue, &a.waiter);
	is_str(wake(), "abc", "waiters are called in order");
	a.remove = &a;
	is_str(wake(), "abc", "a waiter can remove itself");
	b.add_first = &a;
	is_str(wake(), "bc", "a waiter that is added at the front is called next time");
	b.remove = &c;
	is_str(wake(), "ab", "a waiter can remove the next one, which is not called");
	c.remove = &a;
	a.add = &c;
	is_str(wake(), "abc", "a waiter can add another one at the end");
	c.add = &a;
	c.remove = &b;
	is_str(wake(), "bc", "a waiter can remove one that was called");
	wait_queue_append(&queue, &d.waiter);
	c.remove = &d;
	c.nested = true;
	is_str(wake(), "cca", "a wake within a wake calls each waiter at least once");
	wait_queue_remove(&queue, &d.waiter);
	a.remove = &a;
	c.remove = &c;
	is_str(wake(), "ca", "all waiters can remove themselves");
	ok(wait_queue_is_empty(&queue), "then the queue is empty");
}

int main(void)
{
	test_operations();
	test_removal_in_iteration();
	test_model();
	test_wait_queue();
	return done_testing();
}
