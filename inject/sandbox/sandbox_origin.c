#include "inject/sandbox/sandbox_origin.h"

#include "inject/console/out.h"
#include "inject/names/sandbox_label.h"
#include "inject/sandbox/sandbox.h"

#include <errno.h>

#define LABELLED_IMAGES "{\"label\":[\"od.sandbox\"]}"

void sandbox_origins_init(struct sandbox_origins *o, const struct engine *e)
{
	*o = (struct sandbox_origins){.engine = e};
	reply_init(&o->reply);
}

void sandbox_origins_free(struct sandbox_origins *o)
{
	json_doc_free(&o->images);
	reply_free(&o->reply);
}

/* The list has every image that a container uses, with a name or without. */
static int sandbox_origin_list_images(struct sandbox_origins *o)
{
	int r;

	if (o->asked)
		return 0;
	o->asked = true;
	r = engine_request(o->engine, &o->reply, "GET", (struct str){0},
		"/images/json?all=1&filters=%s", LABELLED_IMAGES);
	if (!r && o->reply.status != 200)
		r = engine_fail_reply(&o->reply, ENGINE_NEXT_LOG,
			"listing the images with a label of od-runtime");
	if (!r) {
		r = json_doc_parse(&o->images, buf_view(&o->reply.body));
		if (r && r != -ENOMEM)
			r = out_fail(ENGINE_NEXT_LOG,
				"the engine's list of images is not JSON");
	}
	return r;
}

static struct str sandbox_origin_read_owner(
	struct json_doc *d, struct json_val labels, struct str name)
{
	struct str owner = sandbox_label_owner(d, labels, SANDBOX_LABEL_OWNER, name);

	return owner.n ? owner
		       : sandbox_label_owner(d, labels, SANDBOX_LABEL_BOUND, name);
}

/* Whether the image of the container has the owner's label of the container. */
static bool sandbox_origin_is_inherited(
	struct sandbox_origins *o, const struct sandbox_identity *c, struct str owner)
{
	struct json_val image;
	int it = 0;

	while (json_next(json_doc_root(&o->images), &it, NULL, &image))
		if (str_eq(json_doc_str(&o->images, json_get(image, "Id")), c->image))
			return str_eq(sandbox_origin_read_owner(&o->images,
					      json_get(image, "Labels"), c->name),
				owner);
	return false;
}

int sandbox_origin_find(struct sandbox_origins *o, struct json_doc *d,
	const struct sandbox_identity *c, enum sandbox_origin *origin, uint16_t *port)
{
	struct state known;
	struct str owner;
	int r;

	*origin = SANDBOX_FOREIGN;
	*port = SANDBOX_PORT;
	if (state_find(c->name, c->id, &known)) {
		*origin = known.port ? SANDBOX_INJECTED : SANDBOX_CREATED;
		*port = known.port ? known.port : SANDBOX_PORT;
		state_wipe_key(&known);
		return 0;
	}
	owner = sandbox_origin_read_owner(d, c->labels, c->name);
	if (!owner.n || !sandbox_label_is_set(d, c->labels, SANDBOX_LABEL_MARK))
		return 0;
	r = sandbox_origin_list_images(o);
	if (!r && !sandbox_origin_is_inherited(o, c, owner))
		*origin = SANDBOX_CREATED;
	return r;
}
