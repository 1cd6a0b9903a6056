#include "fs/watch_tree.h"

#include <stdlib.h>

static struct watch_folder *watch_folder_new(const char *name)
{
	size_t n = strlen(name) + 1;
	struct watch_folder *f = calloc(1, sizeof(*f) + n);

	if (f)
		memcpy(f->name, name, n);
	return f;
}

static size_t watch_tree_hash_wd(int wd)
{
	return (unsigned)wd % WATCH_HASH;
}

static size_t watch_tree_hash_name(const struct watch_folder *parent, const char *name)
{
	uint64_t h = (uintptr_t)parent;

	/* FNV-1a. */
	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 0x100000001b3;
	return (h ^ h >> 32) % WATCH_HASH;
}

struct watch_folder *watch_tree_find_wd(const struct watch_tree *t, int wd)
{
	struct watch_folder *f = t->by_wd[watch_tree_hash_wd(wd)];

	while (f && f->wd != wd)
		f = f->same_wd;
	return wd < 0 ? NULL : f;
}

struct watch_folder *watch_tree_find_child(
	const struct watch_tree *t, const struct watch_folder *parent, const char *name)
{
	struct watch_folder *f = t->by_name[watch_tree_hash_name(parent, name)];

	while (f && (f->parent != parent || strcmp(f->name, name) != 0))
		f = f->same_name;
	return f;
}

/* Links a folder into its place; watch_tree_unlink_place removes it. */
static void watch_tree_link_place(
	struct watch_tree *t, struct watch_folder *f, struct watch_folder *parent)
{
	struct watch_folder **chain = &t->by_name[watch_tree_hash_name(parent, f->name)];

	f->parent = parent;
	f->same_name = *chain;
	*chain = f;
	if (parent)
		list_prepend(&parent->children, &f->node);
	else
		t->top = f;
}

static void watch_tree_unlink_place(struct watch_tree *t, struct watch_folder *f)
{
	struct watch_folder **chain =
		&t->by_name[watch_tree_hash_name(f->parent, f->name)];

	while (*chain != f)
		chain = &(*chain)->same_name;
	*chain = f->same_name;
	list_remove(&f->node);
	if (t->top == f)
		t->top = NULL;
}

static void watch_tree_link_wd(struct watch_tree *t, struct watch_folder *f)
{
	struct watch_folder **chain = &t->by_wd[watch_tree_hash_wd(f->wd)];

	f->same_wd = *chain;
	*chain = f;
	t->lost += f->wd < 0;
	t->count++;
}

static void watch_tree_unlink_wd(struct watch_tree *t, struct watch_folder *f)
{
	struct watch_folder **chain = &t->by_wd[watch_tree_hash_wd(f->wd)];

	while (*chain != f)
		chain = &(*chain)->same_wd;
	*chain = f->same_wd;
	t->lost -= f->wd < 0;
	t->count--;
}

struct watch_folder *watch_tree_add(
	struct watch_tree *t, struct watch_folder *parent, const char *name, int wd)
{
	struct watch_folder *f = watch_folder_new(name);

	if (!f)
		return NULL;
	f->wd = wd;
	watch_tree_link_wd(t, f);
	watch_tree_link_place(t, f, parent);
	return f;
}

void watch_tree_drop(struct watch_tree *t, struct watch_folder *f)
{
	watch_tree_unlink_place(t, f);
	watch_tree_unlink_wd(t, f);
	free(f);
}

struct watch_folder *watch_tree_move(struct watch_tree *t, struct watch_folder *f,
	struct watch_folder *parent, const char *name)
{
	struct watch_folder *moved = watch_tree_add(t, parent, name, f->wd);

	if (!moved)
		return NULL;
	moved->dev = f->dev;
	moved->ino = f->ino;
	moved->tried = f->tried;
	/*
	 * The name is part of the object, and the hash of a child depends on its
	 * parent.
	 */
	LIST_EACH (struct watch_folder, c, &f->children, node) {
		watch_tree_unlink_place(t, c);
		watch_tree_link_place(t, c, moved);
	}
	watch_tree_drop(t, f);
	return moved;
}

struct watch_folder *watch_tree_find_leaf(struct watch_folder *f)
{
	struct watch_folder *child;

	while ((child = LIST_FIRST(&f->children, struct watch_folder, node)))
		f = child;
	return f;
}

struct watch_folder *watch_tree_next(
	const struct watch_folder *f, struct watch_folder *at)
{
	struct watch_folder *child = LIST_FIRST(&at->children, struct watch_folder, node);

	if (child)
		return child;
	while (at != f && !list_next(&at->node))
		at = at->parent;
	return at == f ? NULL : LIST_NEXT(at, struct watch_folder, node);
}

bool watch_tree_contains(const struct watch_folder *f, const struct watch_folder *inner)
{
	while (inner && inner != f)
		inner = inner->parent;
	return inner;
}

void watch_tree_put_path(const struct watch_folder *f, struct buf *out)
{
	size_t n = 0;
	char *p;

	for (const struct watch_folder *a = f; a->parent; a = a->parent)
		n += strlen(a->name) + 1;
	if (!n)
		return;
	p = buf_reserve(out, n);
	if (!p)
		return;
	buf_commit(out, n - 1);
	for (const struct watch_folder *a = f; a->parent; a = a->parent) {
		size_t len = strlen(a->name);

		n -= len + 1;
		memcpy(p + n, a->name, len);
		p[n + len] = '/';
	}
}
