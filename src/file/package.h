/*
 * Office documents as packages (ECMA-376, part 2): a zip archive of parts, which refer
 * to each other by relations.
 */
#ifndef FILE_PACKAGE_H
#define FILE_PACKAGE_H

#include "base/arena.h"
#include "file/unzip.h"

struct package {
	int fd;
	struct unzip zip;
	struct arena memory; /* of relations */
	struct buf why;      /* after an error, in words */
};

struct package_relation {
	struct str id, type; /* type: a URI */
	struct str target;   /* the name of a part; or anything */
	struct package_relation *next;
};

/*
 * 0; ERR_TYPE: there is no such file, or it is no zip archive; an error of unzip_open
 * or of the system. package_close in any case.
 */
int package_open(struct package *p, const char *path) MUST_USE;
void package_close(struct package *p);

/* Appends a part, named without a slash before it. Errors as above; 1: there is none. */
int package_read(struct package *p, struct str name, struct buf *out) MUST_USE;

/*
 * The relations of a part, or of the package itself where the name is empty, in their
 * order; they live as long as the package. Results as of package_read.
 */
int package_relations(
	struct package *p, struct str name, struct package_relation **out) MUST_USE;

/*
 * The name of the part that the whole is about, which lives as long as the package, or
 * usual where the package does not say. Results as of package_read.
 */
int package_main(struct package *p, struct str usual, struct str *out) MUST_USE;

#endif
