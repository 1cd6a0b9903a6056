/*
 * Searching files: the routes /v1/glob and /v1/grep, see docs/protocol.md, and the same
 * for others.
 */
#ifndef SRV_SEARCH_H
#define SRV_SEARCH_H

#include "srv/api.h"
#include "srv/params.h"

struct search;
struct search_kind;

extern const struct search_kind search_kind_glob, search_kind_grep;

struct search_ops {
	/* The last call: 200 with the answer in JSON, or what is wrong in words. */
	void (*done)(void *arg, unsigned status, struct str text);
	/* Whether the one who asked seems to have left. */
	bool (*left)(void *arg);
};

/* The parameter i of a kind of search; NULL behind the last. */
const struct param *search_param(const struct search_kind *kind, size_t i);
/*
 * Starts a search with the parameters that stand in p. 0, and done follows from the
 * loop; or a status as of params_take, with words in p->wrong.
 */
int search_start(struct api *api, const struct search_kind *kind, struct params *p,
	const struct search_ops *ops, void *arg, struct search **out) MUST_USE;
/* Ends it before it is done. */
void search_end(struct search *s);

void search_glob(struct api *api, struct request *rq, struct str name);
void search_grep(struct api *api, struct request *rq, struct str name);
/* Who asked has left: the search ends. */
void search_gone(struct request *rq);

#endif
