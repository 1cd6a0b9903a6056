#include "base/env.h"

/* The value in an entry of that name; NULL for another. */
static const char *env_match_entry(const char *entry, struct str name)
{
	return strncmp(entry, name.p, name.n) == 0 && entry[name.n] == '='
		? entry + name.n + 1
		: NULL;
}

const char *env_find(const char *const *env, struct str name)
{
	const char *value = NULL;

	for (; *env && !value; env++)
		value = env_match_entry(*env, name);
	return value;
}

const char *env_value(const char *const *env, const char *name)
{
	for (; *env; env++) {
		const char *value = env_match_entry(*env, str_c(name));

		if (value && *value)
			return value;
	}
	return NULL;
}

const char **env_copy(const char *const *env, size_t more, struct arena *a)
{
	const char **copy;
	size_t n = 0;

	while (env[n])
		n++;
	copy = arena_array(a, n + more + 1, sizeof(*copy));
	if (copy)
		memcpy(copy, env, n * sizeof(*copy));
	return copy;
}

void env_put(const char **env, const char *variable)
{
	size_t n = strcspn(variable, "=") + 1;

	while (*env && strncmp(*env, variable, n) != 0)
		env++;
	*env = variable;
}
