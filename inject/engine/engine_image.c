#include "inject/engine/engine_image.h"

#include "inject/names/tag.h"

/* Names that od-runtime gives, and the placeholder of engines for no name. */
static const char *const own_names[] = {
	TAG_REPO, TAG_LEGACY_REPO, TAG_LEGACY_DEV_REPO, "<none>"};

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
	r = engine_request_at(e, reply, "GET", STR(""), &t);
	target_free(&t);
	return r;
}

int engine_image_tag(const struct engine *e, struct str image, const char *repo,
	struct str tag, const char *doing)
{
	const struct engine calm = engine_copy_nosignal(e);
	struct reply reply;
	struct target t;
	int r;

	engine_image_target(&t, image);
	target_add(&t, "/tag?repo=%s&tag=%.*s", repo, STR_ARG(tag));
	r = engine_request_at(&calm, &reply, "POST", STR(""), &t);
	if (!r && reply.status != 201)
		r = engine_fail_reply(&reply, NULL, "%s", doing);
	reply_free(&reply);
	target_free(&t);
	return r;
}

bool engine_image_is_own_name(struct str name)
{
	if (str_starts(name, STR("localhost/")))
		name = str_skip(name, sizeof("localhost/") - 1);
	name.n = str_find_byte(name, '@');
	name.n = str_find_byte(name, ':');
	for (size_t i = 0; i < ARRAY_LEN(own_names); i++)
		if (str_eq(name, str_c(own_names[i])))
			return true;
	return !name.n;
}

bool engine_image_has_own_names(struct json_doc *d, struct json_val image)
{
	static const char *const lists[] = {"RepoTags", "RepoDigests"};
	struct json_val name;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		struct json_val names = json_get(image, lists[i]);
		int it = 0;

		while (json_next(names, &it, NULL, &name))
			if (!engine_image_is_own_name(json_doc_str(d, name)))
				return false;
	}
	return true;
}

int engine_image_remove(const struct engine *e, struct str name)
{
	struct target t;
	int r;

	engine_image_target(&t, name);
	target_add(&t, "?noprune=1");
	r = engine_cleanup_at(e, NULL, "DELETE", &t);
	target_free(&t);
	return r;
}
