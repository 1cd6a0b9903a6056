/*
 * The functions of the commands; commands.c has the table. Each returns 0, an exit code,
 * or a negative error.
 */
#ifndef INJECT_CLI_COMMANDS_H
#define INJECT_CLI_COMMANDS_H

#include "inject/options/options.h"

int cmd_build(const struct options *o);
int cmd_tags(const struct options *o);
int cmd_prune(const struct options *o);
int cmd_update(const struct options *o);
int cmd_dockerfile(const struct options *o);
int cmd_inject(const struct options *o);
int cmd_doctor(const struct options *o);
int cmd_run(const struct options *given);
int cmd_listen(const struct options *o);
int cmd_token(const struct options *o);
int cmd_mcp(const struct options *o);
int cmd_exec(const struct options *o);
int cmd_action(const struct options *o);
int cmd_screenshot(const struct options *o);
int cmd_ps(const struct options *o);
int cmd_logs(const struct options *o);
int cmd_start(const struct options *o);
int cmd_restart(const struct options *o);
int cmd_inspect(const struct options *o);
int cmd_env(const struct options *o);
int cmd_sessions(const struct options *o);
int cmd_stop(const struct options *o);
int cmd_rm(const struct options *o);
int cmd_pause(const struct options *o);
int cmd_resume(const struct options *o);
int cmd_kill(const struct options *o);
int cmd_wait(const struct options *o);
int cmd_attach(const struct options *o);
int cmd_shell(const struct options *o);
int cmd_cp(const struct options *o);
int cmd_ls(const struct options *o);
int cmd_completion(const struct options *o);
int cmd_man(const struct options *o);
int cmd_help(const struct options *o);

#endif
