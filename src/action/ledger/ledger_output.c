/* Outputs of actions, as a part of their entries. */
#include "action/ledger/ledger_private.h"

void ledger_close_output(struct ledger *l, struct ledger_entry *e)
{
	if (!e->output || e->output->closed)
		return;
	e->out_n = e->output->end;
	output_close(e->output, e->out_sha);
	/* If that fails, after a new start the length is that of the stored blocks. */
	if (ledger_add_output(l, e) < 0)
		return;
}

void ledger_drop_output(struct ledger *l, struct ledger_entry *e)
{
	if (e->output)
		output_del(l->outputs, e->output);
	e->output = NULL;
}

void ledger_append_output(
	struct ledger *l, struct ledger_entry *e, struct str bytes, uint64_t source)
{
	uint8_t key[LEDGER_KEY];

	if (!l->outputs || !ledger_is_open(e))
		return;
	ledger_make_key(str_c(e->id), key);
	if (!e->output)
		e->output = output_new(l->outputs, key);
	if (e->output)
		output_add(l->outputs, e->output, bytes, source);
}

void ledger_set_outputs(struct ledger *l, struct outputs *o)
{
	struct output *next;

	_Static_assert(
		(int)LEDGER_KEY == (int)OUTPUT_KEY, "an id is known by one digest");
	l->outputs = o;
	for (struct output *x = o->oldest; x; x = next) {
		const struct ledger_slot *slot = ledger_find_slot(l, x->key);
		struct ledger_entry *e = slot ? slot->entry : NULL;

		next = x->newer;
		if (!e || e->acked || e->output) {
			output_del(o, x);
			continue;
		}
		e->output = x;
		if (ledger_is_open(e))
			continue;
		/*
		 * The sandbox was killed while the action ran, or between this record and
		 * its end.
		 */
		if (e->out_n)
			x->closed = true;
		else
			ledger_close_output(l, e);
	}
}
