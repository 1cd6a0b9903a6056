/*
 * Office documents as packages (ECMA-376, part 2): a zip archive of parts, which refer
 * to each other by relationships.
 */
#ifndef FS_PACKAGE_H
#define FS_PACKAGE_H

#include "base/arena.h"
#include "codec/archive/unzip.h"

enum { PACKAGE_PART_MAX = 64 << 20 }; /* bytes of one part, unpacked; a book has 10 MB */

struct package {
	int fd;
	struct unzip zip;
	struct arena memory; /* of relationships */
	struct buf why;      /* error message */
};

struct package_relation {
	struct str id, type; /* type: a URI */
	struct str target;   /* the name of a part, or any other text */
	struct package_relation *next;
};

/*
 * 0; ERR_TYPE: the file does not exist or is no zip archive; an error of unzip_open, or
 * -errno. Call package_close in any case.
 */
int package_open(struct package *p, const char *path) MUST_USE;
void package_close(struct package *p);

/*
 * Appends a part; name has no slash in front. Errors as above; 1: there is no such
 * part.
 */
int package_read(struct package *p, struct str name, struct buf *out) MUST_USE;

/*
 * The relationships of a part, or of the package itself if the name is empty, in their
 * order. They live as long as the package. Results as of package_read.
 */
int package_read_relations(
	struct package *p, struct str name, struct package_relation **out) MUST_USE;

/*
 * The name of the main part, which lives as long as the package, or usual if the
 * package does not name it. Results as of package_read.
 */
int package_find_main(struct package *p, struct str usual, struct str *out) MUST_USE;

#endif
