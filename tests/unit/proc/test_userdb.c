#include "proc/userdb.h"
#include "tests/tap.h"

static const char passwd[] = "# comment:x:1:1:::\n"
			     "root:x:0:0:root:/root:/bin/bash\n"
			     "\n"
			     ":x:5:5::/:\n"
			     "garbage\n"
			     "minus:x:-1:5::/:\n"
			     "huge:x:4294967296:5::/:\n"
			     "none:x:4294967295:5::/:\n"
			     "noid:x::5::/:\n"
			     "+nis::1000::::\n"
			     "+::::::\n"
			     "-bad:x:1000:1::/:\n"
			     "node:x:1000:1001:a:/home/node:/bin/sh:more\n"
			     "twin:x:1000:1002:b:/home/twin:\n"
			     "node:x:7:7:second:/:\n"
			     "short:x:8:9\n"
			     "last:x:4294967294:10::/l:/bin/zsh";

static const char group[] = "root:x:0:\n"
			    "sudo:x:27:node, twin\n"
			    "docker:x:99:nod,node2\n"
			    "bad:x::node\n"
			    "short:x:5\n"
			    "crlf:x:6:node\r\n"
			    "end:x:7:x,,node";

static void check_users(void)
{
	static const char *const names[] = {
		"root", "node", "twin", "node", "short", "last"};
	struct str text = STR(passwd);
	struct userdb_user u = {.uid = 77};
	size_t n = 0;

	while (userdb_next_user(&text, &u) && n < ARRAY_LEN(names)) {
		is_view(u.name, names[n], "entry %zu", n);
		n++;
	}
	is_int(n, ARRAY_LEN(names), "all entries and no other");
	text = STR(passwd);
	ok(userdb_find_name(text, STR("node"), &u), "a user by name");
	is_int(u.uid, 1000, "the first of that name");
	is_int(u.gid, 1001, "his group");
	is_view(u.home, "/home/node", "his home");
	is_view(u.shell, "/bin/sh:more", "what stands behind the last colon is kept");
	ok(userdb_find_uid(text, 1000, &u) && str_eq(u.name, STR("node")),
		"the first of a shared uid");
	ok(userdb_find_name(text, STR("short"), &u) && u.home.n == 0 && u.gid == 9,
		"fields may be missing");
	ok(userdb_find_uid(text, 4294967294, &u), "the largest uid, without a newline");
	is_view(u.shell, "/bin/zsh", "its shell");
	u.uid = 77;
	ok(!userdb_find_name(text, STR("nobody"), &u), "no such name");
	ok(!userdb_find_uid(text, 5, &u), "no such uid");
	ok(!userdb_find_name(text, STR(""), &u), "no empty name");
	ok(!userdb_find_name(STR(""), STR("root"), &u), "no text");
	is_int(u.uid, 77, "nothing is set by a failure");
}

static void check_groups(void)
{
	static const char *const with_node[] = {"sudo", "crlf", "end"};
	struct str text = STR(group);
	struct userdb_group g;
	size_t n = 0, all = 0;

	while (userdb_next_group(&text, &g)) {
		all++;
		if (!userdb_has_member(&g, STR("node")))
			continue;
		if (n < ARRAY_LEN(with_node))
			is_view(g.name, with_node[n], "membership %zu", n);
		n++;
	}
	is_int(n, ARRAY_LEN(with_node), "all memberships and no other");
	is_int(all, 6, "all groups");
	ok(userdb_find_group(STR(group), STR("sudo"), &g) && g.gid == 27, "by name");
	ok(userdb_has_member(&g, STR("twin")), "behind a blank");
	ok(!userdb_has_member(&g, STR("")), "an empty name is no member");
	ok(!userdb_find_group(STR(group), STR("wheel"), &g), "no such group");
}

static void check_names(void)
{
	static const char *const good[] = {"openhands", "_x", "A.b-c_9"};
	static const char *const bad[] = {
		"", "-x", "9x", "a:b", "a/b", "a\nb", "a b", "\xc3\xbc", "+x", ".x"};

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		ok(userdb_is_valid_name(str_c(good[i])), "good name %zu", i);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(!userdb_is_valid_name(str_c(bad[i])), "bad name %zu", i);
	ok(!userdb_is_valid_name(str_make("a\0b", 3)), "a NUL in a name");
}

int main(void)
{
	check_users();
	check_groups();
	check_names();
	return done_testing();
}
