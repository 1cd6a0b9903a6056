/* What the files of once share. */
#ifndef SRV_ONCE_PRIVATE_H
#define SRV_ONCE_PRIVATE_H

#include "srv/once.h"

/* Somebody who waits for the end of an action; in the request's arena. */
struct asker {
	struct asked asked;
	struct request *rq;
	struct doing *doing;
	struct asker *next;
	struct timer patience;
	bool plain; /* the answer itself is wanted, not what is known of the action */
};

/* An action on its way. */
struct doing {
	struct doing *next;
	struct once *once;
	struct ledger_entry *entry;
	struct act act;
	struct arena arena;
	struct buf body, out;
	struct asker *askers;
	struct timer end;
	unsigned unkept; /* status of an answer that the ledger has no room for; or 0 */
	bool before_diff;
	bool attended; /* somebody has waited for the answer itself */
};

/* once.c: a copy of the ledger in init, which a crash does not take away. */
void once_keep(struct once *o);

/* once_doing.c */
bool once_has_ended(const struct ledger_entry *e);
/* Answers as the action was answered first. */
void once_reply(const struct once *o, struct request *rq, const struct ledger_entry *e,
	bool again);
/* Answers what is known of it. */
void once_reply_state(const struct once *o, struct request *rq,
	const struct ledger_entry *e, unsigned status, bool again);
/* Answers when it ends, or after ms; 0: as long as it takes. plain: as once_reply. */
void once_wait(struct doing *d, struct request *rq, bool plain, uint64_t ms);
/* Answers one of those who wait now, with what is known. */
void once_answer(struct asker *a);
/* One that is not begun, with a copy of what was asked for; NULL out of memory. */
struct doing *once_doing_new(struct once *o, struct str body);
/* Begins it; its end follows, perhaps before this returns. */
void once_start(struct doing *d, struct json_val event);
void once_free(struct doing *d);

#endif
