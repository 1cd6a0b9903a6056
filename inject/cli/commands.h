/*
 * The commands. Each file cmd_NAME.c has the entry of a command with its options;
 * commands.c has the table of all.
 */
#ifndef INJECT_CLI_COMMANDS_H
#define INJECT_CLI_COMMANDS_H

#include "inject/options/options.h"

extern const struct command command_build;
extern const struct command command_dockerfile;
extern const struct command command_tags;
extern const struct command command_prune;
extern const struct command command_run;
extern const struct command command_inject;
extern const struct command command_doctor;
extern const struct command command_exec;
extern const struct command command_shell;
extern const struct command command_mcp;
extern const struct command command_action;
extern const struct command command_cp;
extern const struct command command_ls;
extern const struct command command_screenshot;
extern const struct command command_ps;
extern const struct command command_inspect;
extern const struct command command_env;
extern const struct command command_sessions;
extern const struct command command_logs;
extern const struct command command_attach;
extern const struct command command_pause;
extern const struct command command_resume;
extern const struct command command_wait;
extern const struct command command_kill;
extern const struct command command_update;
extern const struct command command_start;
extern const struct command command_restart;
extern const struct command command_stop;
extern const struct command command_rm;
extern const struct command command_listen;
extern const struct command command_token;
extern const struct command command_completion;
extern const struct command command_man;
extern const struct command command_help;

#endif
