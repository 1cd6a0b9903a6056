/*
 * File search: the routes /v1/glob and /v1/grep, see docs/protocol.md, and an interface
 * for other modules.
 */
#ifndef SERVER_FILES_SEARCH_H
#define SERVER_FILES_SEARCH_H

#include "server/api.h"
#include "server/params.h"

struct search;
struct search_kind;

extern const struct search_kind search_kind_glob, search_kind_grep;

struct search_ops {
	/*
	 * The last call: status 200 with the answer in JSON, or an error with a message.
	 */
	void (*done)(void *arg, unsigned status, struct str text);
	/* Whether the client seems to have left. */
	bool (*is_peer_closed)(void *arg);
};

/* Parameter i of a kind of search; NULL: there is none. */
const struct param *search_get_param(const struct search_kind *kind, size_t i);
/*
 * Starts a search with the parameters in p. Returns 0: done is called later, from the
 * event loop; or a status as params_read, with a message in p->error.
 */
int search_start(struct api *api, const struct search_kind *kind, struct params *p,
	const struct search_ops *ops, void *arg, struct search **out) MUST_USE;
/* Ends a search before it is done. */
void search_end(struct search *s);

void search_handle_glob(struct api *api, struct request *rq, struct str name);
void search_handle_grep(struct api *api, struct request *rq, struct str name);

#endif
