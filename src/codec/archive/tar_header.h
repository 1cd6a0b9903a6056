/* A header of a tar archive (POSIX.1-1988, ustar). Full fields have no NUL at the end. */
#ifndef CODEC_ARCHIVE_TAR_HEADER_H
#define CODEC_ARCHIVE_TAR_HEADER_H

struct tar_write_header {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char sum[8];
	char type;
	char target[100];
	char magic[6];
	char version[2];
	char uname[32];
	char gname[32];
	char major[8];
	char minor[8];
	char prefix[155];
	char rest[12];
};

_Static_assert(sizeof(struct tar_write_header) == 512, "a header fills one block");

#endif
