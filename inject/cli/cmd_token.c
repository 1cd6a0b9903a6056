/* Prints tokens that "listen" accepts, for programs that start sandboxes. */
#include "inject/cli/commands.h"

#include "inject/console/out.h"
#include "inject/names/listen_secret.h"
#include "inject/names/listen_token.h"
#include "inject/options/options_rows.h"
#include "limits.h"

struct token_options {
	bool operator;
};

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

static int cmd_token(const struct command_line *line)
{
	const struct token_options *o = line->options;
	struct buf secret = BUF_SECRET(DIAL_TOKEN_MAX);
	const char *name = line->operand_n > 1 ? line->operand[1] : NULL;
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
	r = listen_secret_load("token", line->operand[0], &secret);
	if (!r)
		r = cmd_token_print(str_trim(buf_view(&secret), " \t\r\n"), name);
	buf_free(&secret);
	return r;
}

#define OPTIONS struct token_options
static const struct option token_options[] = {
	{"operator", NULL,
		"print the operator's token, which permits GET /sandboxes, the list of "
		"the sandboxes",
		FLAG, AT(operator), GROUP(NETWORK)},
	{0},
};
#undef OPTIONS

const struct command command_token = {
	.name = "token",
	.usage = "FILE NAME | FILE --operator",
	.purpose = "print the token that sandbox NAME sends to listen --token FILE",
	.examples = {"od-runtime token secret box >box.token",
		"od-runtime token secret --operator"},
	.operands = 2,
	.last_optional = true,
	.options = token_options,
	.options_size = sizeof(struct token_options),
	.run = cmd_token,
};
