/*
 * Image manifests and indexes, of OCI and of Docker (image specification; "Image
 * Manifest Version 2, Schema 2"). An engine without I/O.
 */
#ifndef INJECT_REGISTRY_MANIFEST_H
#define INJECT_REGISTRY_MANIFEST_H

#include "base/jw.h"
#include "inject/http/json_doc.h"
#include "inject/registry/store.h"

#define MEDIA_OCI_INDEX "application/vnd.oci.image.index.v1+json"
#define MEDIA_OCI_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define MEDIA_OCI_CONFIG "application/vnd.oci.image.config.v1+json"
#define MEDIA_OCI_LAYER "application/vnd.oci.image.layer.v1.tar"
#define MEDIA_DOCKER_INDEX "application/vnd.docker.distribution.manifest.list.v2+json"
#define MEDIA_DOCKER_MANIFEST "application/vnd.docker.distribution.manifest.v2+json"
#define MEDIA_DOCKER_CONFIG "application/vnd.docker.container.image.v1+json"
#define MEDIA_DOCKER_LAYER "application/vnd.docker.image.rootfs.diff.tar"

enum manifest_kind { MANIFEST_IMAGE, MANIFEST_INDEX };

struct manifest {
	enum manifest_kind kind;
	bool docker;             /* Docker's media types, else OCI's */
	struct json_doc doc;     /* owned; indexes the text */
	struct content config;   /* of an image */
	struct json_val layers;  /* of an image: descriptors, bottom first */
	struct json_val entries; /* of an index: descriptors with a platform */
	const char *media;       /* static */
};

/*
 * Reads text, which must stay in place, as must m. media is the Content-Type of the text;
 * may be empty. 0; ERR_SYNTAX with the reason in *why, such as for a text that can be
 * read both as an image and as an index (CVE-2021-41190); -ENOMEM. manifest_free takes a
 * zeroed object too.
 */
int manifest_read(struct manifest *m, struct str text, const char *media,
	const char **why) MUST_USE;
void manifest_free(struct manifest *m);

/* Reads a descriptor. 0; ERR_SYNTAX: its digest, size or type is missing or wrong. */
int content_read(struct json_doc *d, struct json_val v, struct content *c) MUST_USE;

/* Append a descriptor with exactly its three members, as an object or as members only. */
void content_write(struct buf *out, const struct content *c);
void content_write_members(struct jw *w, const struct content *c);

/* The platform of an entry of an index; the strs live as long as d. */
struct platform {
	struct str os, arch, variant;
};

/* All empty when the entry has no platform. */
void platform_read(struct json_doc *d, struct json_val entry, struct platform *p);

#endif
