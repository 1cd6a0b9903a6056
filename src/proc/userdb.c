#include "proc/userdb.h"

/* The largest number means "no change" to the kernel and is no user's. */
enum { FIELDS_USER = 7, FIELDS_GROUP = 4 };
static const uint64_t id_max = UINT32_MAX - 1;

/*
 * Cuts the next line at its colons into n fields, the last of which takes the rest. False
 * for a line that is no entry; missing fields are empty.
 */
static bool userdb_next_fields(struct str *text, struct str *fields, size_t n)
{
	struct str line = str_cut(text, '\n');

	for (size_t i = 0; i + 1 < n; i++)
		fields[i] = str_cut(&line, ':');
	fields[n - 1] = line;
	/* NIS lines refer to other sources, and are no users. */
	return fields[0].n && !memchr("+-#", fields[0].p[0], 3) &&
		str_find_byte(fields[0], '\0') == fields[0].n;
}

static bool userdb_parse_id(struct str s, uint32_t *out)
{
	uint64_t v;

	if (str_u64(s, id_max, &v))
		return false;
	*out = (uint32_t)v;
	return true;
}

bool userdb_next_user(struct str *text, struct userdb_user *out)
{
	struct str f[FIELDS_USER];

	while (text->n) {
		struct userdb_user u;

		if (!userdb_next_fields(text, f, FIELDS_USER) ||
			!userdb_parse_id(f[2], &u.uid) || !userdb_parse_id(f[3], &u.gid))
			continue;
		u.name = f[0];
		u.home = f[5];
		u.shell = f[6];
		*out = u;
		return true;
	}
	return false;
}

bool userdb_next_group(struct str *text, struct userdb_group *out)
{
	struct str f[FIELDS_GROUP];

	while (text->n) {
		struct userdb_group g;

		if (!userdb_next_fields(text, f, FIELDS_GROUP) ||
			!userdb_parse_id(f[2], &g.gid))
			continue;
		g.name = f[0];
		g.members = f[3];
		*out = g;
		return true;
	}
	return false;
}

bool userdb_find_name(struct str text, struct str name, struct userdb_user *out)
{
	struct userdb_user u;

	while (userdb_next_user(&text, &u))
		if (str_eq(u.name, name)) {
			*out = u;
			return true;
		}
	return false;
}

bool userdb_find_uid(struct str text, uid_t uid, struct userdb_user *out)
{
	struct userdb_user u;

	while (userdb_next_user(&text, &u))
		if (u.uid == uid) {
			*out = u;
			return true;
		}
	return false;
}

bool userdb_find_group(struct str text, struct str name, struct userdb_group *out)
{
	struct userdb_group g;

	while (userdb_next_group(&text, &g))
		if (str_eq(g.name, name)) {
			*out = g;
			return true;
		}
	return false;
}

bool userdb_has_member(const struct userdb_group *g, struct str name)
{
	struct str rest = g->members;

	while (rest.n)
		if (str_eq(str_trim(str_cut(&rest, ','), " \t\r"), name))
			return true;
	return false;
}

static bool userdb_is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool userdb_is_valid_name(struct str name)
{
	if (name.n == 0 || !userdb_is_alpha(name.p[0]))
		return false;
	for (size_t i = 1; i < name.n; i++)
		if (!userdb_is_alpha(name.p[i]) &&
			!(name.p[i] >= '0' && name.p[i] <= '9') && name.p[i] != '.' &&
			name.p[i] != '-')
			return false;
	return true;
}
