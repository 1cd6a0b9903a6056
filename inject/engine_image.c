#include "inject/engine_image.h"

static void engine_image_target(struct target *t, struct str name)
{
	target_init(t, ENGINE_TARGET_MAX);
	target_add(t, "/images/");
	target_add_name(t, name);
}

int engine_image_inspect(const struct engine *e, struct str name, struct reply *reply)
{
	struct target t;
	int r;

	engine_image_target(&t, name);
	target_add(&t, "/json");
	r = engine_ask_at(e, reply, "GET", STR(""), &t);
	target_free(&t);
	return r;
}

int engine_image_tag(const struct engine *e, struct str image, const char *repo,
	struct str tag, const char *doing)
{
	const struct engine calm = engine_calm(e);
	struct reply reply;
	struct target t;
	int r;

	engine_image_target(&t, image);
	target_add(&t, "/tag?repo=%s&tag=%.*s", repo, STR_ARG(tag));
	r = engine_ask_at(&calm, &reply, "POST", STR(""), &t);
	if (!r && reply.status != 201)
		r = engine_refused(&reply, NULL, "%s", doing);
	reply_free(&reply);
	target_free(&t);
	return r;
}

int engine_image_remove(const struct engine *e, struct str name)
{
	struct target t;
	int r;

	engine_image_target(&t, name);
	target_add(&t, "?noprune=1");
	r = engine_tidy_at(e, NULL, "DELETE", &t);
	target_free(&t);
	return r;
}
