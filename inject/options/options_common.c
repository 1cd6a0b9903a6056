/* The options of every command. */
#include "inject/options/options_rows.h"

#define OPTIONS struct command_line
const struct option common_options[] = {
	{"host", "URL",
		"use the engine at URL: unix:///PATH, or tcp://HOST:PORT over TLS", TEXT,
		AT(host), DEFAULT("DOCKER_HOST, else the usual socket"), GROUP(COMMON)},
	{"json", NULL, "print JSON for programs", FLAG, AT(json), GROUP(COMMON)},
	{"help", NULL, "print this help", FLAG, .letter = 'h', AT(help), GROUP(COMMON)},
	{"version", NULL, "print the version", FLAG, AT(version), GROUP(COMMON)},
	{0},
};
