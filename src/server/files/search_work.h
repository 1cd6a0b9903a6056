/* The work and the answer of a search, in a job. */
#ifndef SERVER_FILES_SEARCH_WORK_H
#define SERVER_FILES_SEARCH_WORK_H

#include "fs/path.h"
#include "search/grep.h"

/* Owned by the search in the server, which frees regex and globs. The job has a copy. */
struct search_work {
	struct file_path top;
	struct regex regex; /* of a grep */
	struct glob glob;   /* of a glob; of a grep: the files to search */
	struct glob except; /* of a grep: files to leave out */
	struct walk_conf walk;
	struct grep_conf grep;
	uint64_t limit;
	bool files, folders; /* the types that a glob finds */
	uint64_t ms;         /* time limit, from the start of the job on */
};

/*
 * Work functions of jobs; arg is a struct search_work. The output is an HTTP status of
 * three digits and the body: the answer in JSON, or an error message. Return 0, or -errno
 * if the output cannot be written, which fails the job.
 */
int search_work_glob(void *arg, int in, int out);
int search_work_grep(void *arg, int in, int out);

#endif
