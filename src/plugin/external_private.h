/* Shared by the files of external plugins; not for other files. */
#ifndef PLUGIN_EXTERNAL_PRIVATE_H
#define PLUGIN_EXTERNAL_PRIVATE_H

#include "base/lines.h"
#include "base/list.h"
#include "codec/plugin_frame.h"
#include "limits.h"
#include "plugin/external.h"
#include "plugin/manifest.h"
#include "proc/service.h"

/* While a process is wanted the state is RUNNING, and the service has the details. */
enum external_state {
	EXTERNAL_OFF,     /* not started yet, or stopped for good */
	EXTERNAL_LACKING, /* a need is missing; a call checks again */
	EXTERNAL_PROBING, /* the probe runs */
	EXTERNAL_RESTING, /* all needs are met; the first call starts it */
	EXTERNAL_RUNNING,
	EXTERNAL_ABSENT, /* the process runs and has reported why it is unavailable */
};

struct call;

struct external_action {
	struct action action;
	struct external *e;
};

struct external {
	struct plugin plugin;                   /* for plugin.c */
	const struct external_builtin *builtin; /* NULL: a plugin from a folder */
	struct box *box;
	struct plugin_instance *plug; /* set while it is started */
	struct arena memory;
	struct plugin_manifest manifest;
	const char *dir;
	const char **env;
	struct external_action *actions;
	char missing[PLUGIN_WHY_MAX];

	enum external_state state;
	bool probed;    /* the probe has succeeded */
	uint64_t since; /* of the state */
	unsigned starts;

	struct service service; /* its channel: frames */
	struct lines lines;
	struct arena json;
	char line[PLUGIN_LINE_MAX], last[PLUGIN_LINE_MAX];
	size_t line_n;

	/*
	 * After a call without an answer in time: runs until the ping must be answered.
	 */
	struct timer ping_timer;
	char end_reason[PLUGIN_WHY_MAX]; /* how the previous process has ended */

	/* Output that was not requested. */
	struct timer noise_timer;
	unsigned noise, dropped;
	unsigned changes; /* frames among it that report a change of readiness */

	struct list calls; /* in order of arrival */
	size_t calls_n;
	uint64_t last_id;
};

/* --- external.c: the life cycle of the process */

extern const struct service_kind external_service;

/* Starts the plugin: p->own becomes e. */
void external_begin(struct external *e, struct plugin_instance *p);
/* For struct plugin. */
int external_start(struct plugin_instance *p);
void external_drain_calls(struct plugin_instance *p);
void external_stop(struct plugin_instance *p);
/* A call has come in LACKING: checks the needs again. */
void external_recheck(struct external *e);
/* A call has come in RESTING: starts the process. */
void external_wake(struct external *e);
/* The process has reported that it is ready, or why it is unavailable. */
void external_set_ready(struct external *e);
void external_set_absent(struct external *e, struct str why);

/*
 * A call that was sent at since (the loop's time) has had no answer: sends a ping, and
 * kills the process if it does not answer.
 */
void external_send_ping(struct external *e, uint64_t since);
/* The process has sent something: ends the doubt. */
void external_cancel_ping(struct external *e);

/* --- external_io.c: the channel, and what the process prints */

/* Drops incomplete frames and lines. */
void external_end_io(struct external *e);
/* Queues a frame. ERR_LIMIT: the process does not read. */
int external_send(struct external *e, struct str frame) MUST_USE;
/* Sends a frame with the member op alone, and id unless that is 0, if there is space. */
void external_send_op(struct external *e, const char *op, uint64_t id);
/* For struct service_kind. */
void external_on_printed(struct service *s, struct str text);
int external_on_received(struct service *s, char *bytes, size_t n);

/* --- external_call.c: calls and their replies */

/* For the routes and the actions of the plugin. */
void external_handle(struct plugin_instance *p, struct request *rq);
int external_run(struct act *a);
/* Ends streams of events, which would otherwise delay the end of the server. */
void external_end_streams(struct external *e);
/* In READY: sends the calls that wait. */
void external_pump(struct external *e);
/* Answers the calls that were sent, and if all is set, the others too, with an error. */
void external_fail_calls(struct external *e, bool all, const char *why);
/* 0; ERR_SYNTAX with why: there is no such call. */
int external_on_reply(
	struct external *e, const struct plugin_frame *f, const char **why) MUST_USE;
/* As external_on_reply, for a built-in plugin. */
int external_builtin_on_reply(struct external *e, uint64_t id, struct str observation,
	const char **why) MUST_USE;
/* Counts a frame or a printed line that was not requested. True: it may be logged. */
bool external_count_noise(struct external *e);

#endif
