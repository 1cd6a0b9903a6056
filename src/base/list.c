#include "base/list.h"

#include <assert.h>

void list_insert_after(struct list *place, struct list *node)
{
	assert(!node->prev);
	node->prev = place;
	node->next = place->next;
	if (node->next)
		node->next->prev = node;
	place->next = node;
}

void list_append(struct list *head, struct list *node)
{
	while (head->next)
		head = head->next;
	list_insert_after(head, node);
}

void list_remove(struct list *node)
{
	if (!node->prev)
		return;
	node->prev->next = node->next;
	if (node->next)
		node->next->prev = node->prev;
	list_init(node);
}

size_t list_count(const struct list *head)
{
	size_t n = 0;

	for (const struct list *at = list_first(head); at; at = list_next(at))
		n++;
	return n;
}
