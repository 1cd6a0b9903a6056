#include "inject/image/rootfs.h"

#include "inject/image/image.h"

#include <stdio.h>

/* Writes the entry with the prefix before its name. */
static int rootfs_put_entry(const struct rootfs *f, struct tar *t, struct tar_entry e)
{
	static const size_t top = sizeof(".od/") - 1;
	char name[TAR_NAME_MAX + 1];

	if (f->inside && !e.name[top])
		return 0;
	snprintf(name, sizeof(name), "%s%s", f->prefix, e.name + (f->inside ? top : 0));
	e.name = name;
	return tar_write_header(t, &e);
}

static int rootfs_put_dir(const struct rootfs *f, struct tar *t, const char *name)
{
	return rootfs_put_entry(
		f, t, (struct tar_entry){.type = TAR_DIR, .mode = 0755, .name = name});
}

static int rootfs_put_file(const struct rootfs *f, struct tar *t, const char *name,
	unsigned mode, size_t size)
{
	return rootfs_put_entry(f, t,
		(struct tar_entry){
			.type = TAR_FILE, .mode = mode, .name = name, .size = size});
}

/* Writes the link at the path that unmodified OpenHands backends execute. */
static int rootfs_put_drop_in(const struct rootfs *f, struct tar *t)
{
	static const char *const dirs[] = {
		"openhands/",
		"openhands/micromamba/",
		"openhands/micromamba/bin/",
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(dirs) && !r; i++)
		r = rootfs_put_dir(f, t, dirs[i]);
	return r ? r
		 : rootfs_put_entry(f, t,
			   (struct tar_entry){
				   .type = TAR_LINK,
				   .mode = 0777,
				   .name = "openhands/micromamba/bin/micromamba",
				   .target = IMAGE_CLIENT,
			   });
}

static int rootfs_put_busybox(const struct rootfs *f, struct tar *t)
{
	int r = rootfs_put_dir(f, t, ".od/");

	if (!r && f->busybox.n)
		r = rootfs_put_dir(f, t, ".od/bin/");
	return r || !f->busybox.n
		? r
		: rootfs_put_file(f, t, ".od/bin/busybox", 0755, f->busybox.n);
}

/* Every user may execute the file; no user may write it, not even root. */
static int rootfs_put_program(
	const struct rootfs *f, struct tar *t, const char *name, struct str bytes)
{
	tar_pad(t);
	return bytes.n ? rootfs_put_file(f, t, name, 0555, bytes.n) : 0;
}

static int rootfs_put_rest(const struct rootfs *f, struct tar *t)
{
	int r;

	tar_pad(t);
	r = f->drop_in ? rootfs_put_drop_in(f, t) : 0;
	tar_end(t);
	return r;
}

/* The entries are in byte order of their names. */
int rootfs_write_part(
	const struct rootfs *f, size_t part, struct tar *t, struct str *bytes)
{
	const struct str programs[ROOTFS_PARTS] = {
		f->busybox, f->plugins_program, f->client};

	*bytes = programs[part];
	switch (part) {
	case 0:
		return rootfs_put_busybox(f, t);
	case 1:
		return rootfs_put_program(f, t, ".od/od-plugins", *bytes);
	case 2:
		return rootfs_put_program(f, t, ".od/od-runtime-client", *bytes);
	default:
		return rootfs_put_rest(f, t);
	}
}
