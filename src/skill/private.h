/* The interface between skill.c and the files of the skills. */
#ifndef SKILL_PRIVATE_H
#define SKILL_PRIVATE_H

#include "base/arena.h"
#include "base/buf.h"

enum { SKILL_ARGS_MAX = 8 };

/* A call: the arguments as text, in the order of the skill's table; NULL if absent. */
struct skill_call {
	const char *args[SKILL_ARGS_MAX];
	struct arena memory; /* of arguments given as JSON */
	struct buf out;      /* the text to be printed */
	bool failed;
};

/* Replaces the output by "ERROR: " and the message. */
void skill_set_error(struct skill_call *c, const char *fmt, ...) PRINTF(2, 3);

void skill_open_file(struct skill_call *c);
void skill_goto_line(struct skill_call *c);
void skill_scroll_down(struct skill_call *c);
void skill_scroll_up(struct skill_call *c);

void skill_search_file(struct skill_call *c);
void skill_search_dir(struct skill_call *c);
void skill_find_file(struct skill_call *c);

void skill_file_editor(struct skill_call *c);

void skill_parse_docx(struct skill_call *c);
void skill_parse_pptx(struct skill_call *c);
void skill_parse_latex(struct skill_call *c);

#endif
