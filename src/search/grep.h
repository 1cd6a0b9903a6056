/*
 * Searches the files of a tree for lines that match, in a stable order.
 *
 * Runs with the rights of the calling process and may wait for a slow disk. Files with
 * a NUL byte in the first bytes read are binary and are skipped.
 */
#ifndef SEARCH_GREP_H
#define SEARCH_GREP_H

#include "search/glob.h"
#include "search/regex.h"
#include "search/walk.h"

enum grep_mode {
	GREP_LINES,
	GREP_FILES,  /* no lines; a file is searched up to its first match */
	GREP_COUNTS, /* no lines */
};

struct grep_line {
	uint64_t number; /* from 1 on */
	struct str text; /* without its LF; cut to line_max */
	bool match;      /* false: context */
	bool cut;
};

/*
 * Called in this order: file, its lines, file_end. The arguments are borrowed. A result
 * other than 0, positive or an error, ends the search with that value and without
 * file_end.
 */
struct grep_ops {
	/*
	 * A file that matches; path is relative to the top, or the base name if the top
	 * is the file.
	 */
	int (*file)(void *arg, struct str path);
	int (*line)(void *arg, const struct grep_line *line);
	/* matches: the matching lines seen so far; the rest of the file may be unread. */
	int (*file_end)(void *arg, uint64_t matches);
};

/* The caller owns all members. regex and globs cache states while they are used. */
struct grep_conf {
	struct regex *regex;
	struct walk_conf walk;
	enum grep_mode mode;
	struct glob *only;   /* NULL: all files */
	struct glob *except; /* NULL: none */
	unsigned before, after;
	uint64_t limit;    /* matches, or files in the modes without lines; 0: none */
	uint64_t per_file; /* matches of one file; 0: no limit */
	size_t line_max;   /* bytes shown of a line */
	uint64_t until;    /* clock_ms; 0: no limit */
	const struct grep_ops *ops;
	void *arg;
};

enum grep_end {
	GREP_COMPLETE,
	GREP_LIMIT, /* the limit was reached; there may be more matches */
	GREP_TIME,
};

struct grep_counts {
	uint64_t files; /* searched */
	uint64_t matched_files;
	uint64_t matches;
	uint64_t binary;
	uint64_t unreadable; /* files and folders */
	uint64_t too_long; /* files with a line above GREP_LINE_MAX: searched up to it */
	uint64_t too_deep; /* folders */
	enum grep_end end;
};

/*
 * Searches the tree, or the single file, at top, an absolute path. 0, or the positive
 * value of an op, with *out; the error of an op; -errno if top cannot be opened
 * (ERR_TYPE: neither file nor folder); -ENOMEM. Unreadable files and folders below top
 * are counted and are no error.
 */
int grep_run(
	const struct grep_conf *conf, const char *top, struct grep_counts *out) MUST_USE;

#endif
