/* The session key, and whether the server may start without one. */
#include "config.h"

#include <arpa/inet.h>
#include <stdlib.h>

/* Overwrites the key in the environment block, which /proc shows. */
void config_take_key(struct config *c)
{
	static const char name[] = "SESSION_API_KEY";
	char *key = getenv(name);

	if (!key)
		return;
	/* The option has precedence: the variable may be for another program. */
	if (*key && !c->has_key)
		sha256_compute(str_c(key), c->key);
	c->has_key = c->has_key || *key;
	explicit_bzero(key, strlen(key));
	unsetenv(name);
}

static bool config_address_is_loopback(const char *text)
{
	struct in6_addr six;
	struct in_addr four;

	if (inet_pton(AF_INET, text, &four) == 1)
		return ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
	return inet_pton(AF_INET6, text, &six) == 1 &&
		(IN6_IS_ADDR_LOOPBACK(&six) ||
			(IN6_IS_ADDR_V4MAPPED(&six) &&
				six.s6_addr[12] == IN_LOOPBACKNET));
}

bool config_is_open(const struct config *c)
{
	return !c->has_key && !c->tls_client_ca &&
		!config_address_is_loopback(c->address);
}

void config_check_key(const struct config *c, struct buf *errors)
{
	if (c->no_key && c->has_key)
		buf_puts(errors,
			"--no-key and a session key (SESSION_API_KEY or --key-sha256) "
			"cannot be combined; leave out one of the two\n");
	else if (!c->no_key && config_is_open(c))
		buf_fmt(errors,
			"no session key: every program that can connect to %s could run "
			"commands here. Set SESSION_API_KEY or --key-sha256, or accept "
			"the risk with --no-key\n",
			c->address);
}
