/* passwd and group files of any content: entries are sound and found again. */
#include "proc/userdb.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_users(struct str text)
{
	struct str rest = text;
	struct userdb_user u, same;

	while (userdb_next_user(&rest, &u)) {
		assert(u.name.n && !memchr(u.name.p, '\n', u.name.n));
		assert(u.uid != (uid_t)-1 && u.gid != (gid_t)-1);
		assert(userdb_find_name(text, u.name, &same));
		assert(str_eq(same.name, u.name));
		assert(userdb_find_uid(text, u.uid, &same) && same.uid == u.uid);
		(void)userdb_is_valid_name(u.name);
	}
}

static void check_groups(struct str text)
{
	struct str rest = text;
	struct userdb_group g, same;

	while (userdb_next_group(&rest, &g)) {
		assert(userdb_find_group(text, g.name, &same));
		assert(g.members.n == 0 ||
			(g.members.p >= text.p &&
				g.members.p + g.members.n <= text.p + text.n));
		(void)userdb_has_member(&g, STR("a"));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	check_users(str_make(copy, size));
	check_groups(str_make(copy, size));
	free(copy);
	return 0;
}
