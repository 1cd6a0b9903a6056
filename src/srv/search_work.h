/* What a search does and answers, in a job of its own. */
#ifndef SRV_SEARCH_WORK_H
#define SRV_SEARCH_WORK_H

#include "file/grep.h"
#include "file/path.h"

/* Owned by the search in the server, which frees regex and globs; a job has a copy. */
struct search_work {
	struct file_path top;
	struct regex regex; /* of a grep */
	struct glob glob;   /* of a glob; of a grep, the files to be searched */
	struct glob except; /* of a grep, the files not to be searched */
	struct walk_conf walk;
	struct grep_conf grep;
	uint64_t limit;
	bool files, folders; /* what a glob is asked for */
	uint64_t ms;         /* from the start of the job on */
};

/*
 * Work of jobs; arg is a struct search_work. The output is a status of HTTP in three
 * digits and the body for it: the answer in JSON, or words about what is wrong. 0, or
 * -errno when it cannot be written; then the job has failed.
 */
int search_work_glob(void *arg, int in, int out);
int search_work_grep(void *arg, int in, int out);

#endif
