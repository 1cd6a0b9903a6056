#include "base/list.h"

#include <assert.h>

void list_insert_after(struct list *place, struct list *node)
{
	assert(!node->next);
	node->prev = place;
	node->next = place->next;
	node->next->prev = node;
	place->next = node;
}

/* An empty head may be zeroed; with elements it is part of their circle. */
static void list_close_circle(struct list *head)
{
	if (!head->next)
		head->next = head->prev = head;
}

void list_prepend(struct list *head, struct list *node)
{
	list_close_circle(head);
	list_insert_after(head, node);
}

void list_append(struct list *head, struct list *node)
{
	list_close_circle(head);
	list_insert_after(head->prev, node);
}

void list_remove(struct list *node)
{
	if (!node->next)
		return;
	node->next->prev = node->prev;
	node->prev->next = node->next;
	list_init(node);
}

size_t list_count(const struct list *head)
{
	size_t n = 0;

	for (const struct list *at = list_first(head); at; at = list_next(head, at))
		n++;
	return n;
}
