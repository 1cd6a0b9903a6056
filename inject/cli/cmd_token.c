/* Prints tokens that "listen" accepts, for programs that start sandboxes. */
#include "inject/cli/commands.h"

#include "inject/console/out.h"
#include "inject/names/listen_secret.h"
#include "inject/names/listen_token.h"
#include "limits.h"

static int cmd_token_print(struct str secret, const char *name)
{
	struct buf line = BUF_SECRET(CONNECT_ID_MAX + SHA256_HEX + 2);
	struct listen_tokens tokens;

	listen_tokens_init(&tokens, secret);
	if (name)
		listen_token_put_sandbox(&tokens, str_c(name), &line);
	else
		listen_token_put_operator(&tokens, &line);
	return out_write_line(&line);
}

int cmd_token(const struct options *o)
{
	struct buf secret = BUF_SECRET(DIAL_TOKEN_MAX);
	const char *name = o->operand_n > 1 ? o->operand[1] : NULL;
	int r;

	if (!name == !o->operator)
		return out_fail_usage("od-runtime token --help",
			"token prints the token of a sandbox, so it needs its NAME, or "
			"--operator");
	if (name && !listen_name_is_valid(str_c(name)))
		return out_fail_usage(
			"give the name that the sandbox has in --connect-id",
			"'%s' is not a valid name of a sandbox: a name has 1 to %d "
			"letters, digits, '.', '_' or '-', and does not begin with '.'",
			name, CONNECT_ID_MAX);
	r = listen_secret_load("token", o->operand[0], &secret);
	if (!r)
		r = cmd_token_print(str_trim(buf_view(&secret), " \t\r\n"), name);
	buf_free(&secret);
	return r;
}
