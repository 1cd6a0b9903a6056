#include "inject/commands.h"
int cmd_completion(const struct options *o)
{
	(void)o;
	return 0;
}
int cmd_man(const struct options *o)
{
	(void)o;
	return 0;
}
