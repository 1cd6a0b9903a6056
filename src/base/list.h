/*
 * Doubly linked lists through a member of their elements: nothing is allocated, and an
 * element is removed without a search.
 *
 *	struct job {
 *		struct list node; (the first member: LIST_OF costs no instruction)
 *	};
 *	static struct list queue;
 *
 *	list_append(&queue, &j->node);
 *	LIST_EACH (struct job, each, &queue, node)
 *		job_start(each);
 *
 * A struct list is either a head or a node. A zeroed head is an empty list, and a zeroed
 * node is in no list: objects from calloc need no list_init.
 *
 * The head has no pointer to the end: iterations and removals are as small as those of a
 * singly linked list, and list_append takes as long as list_count.
 *
 * A list owns nothing. The owner of an element removes it from its list before it frees
 * the element. A head with elements, and a node in a list, must keep their addresses.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next; /* NULL at the end */
	struct list *prev; /* of the first node: the head; of a head: NULL */
};

/* Makes an empty list, or a node that is in no list, of memory that is not zeroed. */
static inline void list_init(struct list *l)
{
	l->next = l->prev = NULL;
}

/* Adds a node that is in no list after a head, or after a node that is in a list. */
void list_insert_after(struct list *place, struct list *node);
/* Adds a node that is in no list at the front. */
static inline void list_prepend(struct list *head, struct list *node)
{
	list_insert_after(head, node);
}

/* Adds a node that is in no list at the end, which is searched from the front. */
void list_append(struct list *head, struct list *node);
/* Removes a node from its list. No effect on a node that is in no list. */
void list_remove(struct list *node);
/* The number of elements, which are counted one by one. */
size_t list_count(const struct list *head);

/* The first node; NULL: the list is empty. */
static inline struct list *list_first(const struct list *head)
{
	return head->next;
}

static inline bool list_is_empty(const struct list *head)
{
	return !head->next;
}

/* The node after a node; NULL: there is none. */
static inline struct list *list_next(const struct list *node)
{
	return node->next;
}

/* For LIST_OF. */
static inline void *list_get_element(struct list *node, size_t offset)
{
	return node ? (char *)node - offset : NULL;
}

/* Fails to compile unless the member is a struct list. */
#define LIST_OFFSET(type, member) \
	(offsetof(type, member) + 0 * sizeof(struct { \
		_Static_assert(__builtin_types_compatible_p( \
				       __typeof__(((type *)0)->member), struct list), \
			"the member is not a struct list"); \
		char unused; \
	}))

/* The element with this node; NULL for NULL. */
#define LIST_OF(node, type, member) \
	((type *)list_get_element((node), LIST_OFFSET(type, member)))
/* The first element of a list; NULL: the list is empty. */
#define LIST_FIRST(head, type, member) LIST_OF(list_first(head), type, member)
/* The element after x; NULL: there is none. */
#define LIST_NEXT(x, type, member) LIST_OF(list_next(&(x)->member), type, member)

/*
 * Declares x and iterates over the elements in order. The body may remove x and free it,
 * and may add elements; it must not remove the element after x.
 */
#define LIST_EACH(type, x, head, member) \
	for (type *x = LIST_FIRST(head, type, member), *x##_next; \
		x && (x##_next = LIST_NEXT(x, type, member), true); x = x##_next)

#endif
