/*
 * A plugin in C: it sends back what it gets. The members of a frame have a fixed order,
 * so that the last one, arguments or body, can be taken as it stands.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* frame is a call, without its newline. */
static void reply(FILE *to, const char *frame)
{
	const char *id = strstr(frame, "\"id\":");
	const char *args = strstr(frame, ",\"args\":");
	const char *body = strstr(frame, ",\"body");

	fprintf(to, "{\"op\":\"reply\",%.*s,", (int)strcspn(id, ","), id);
	if (args) {
		args += strlen(",\"args\":");
		fprintf(to, "\"observation\":{\"content\":\"echo\",\"extras\":%.*s}}\n",
			(int)(strlen(args) - 1), args);
	} else {
		fprintf(to, "\"status\":200%s\n", body);
	}
}

int main(int argc, char **argv)
{
	FILE *from, *to;
	char *frame = NULL;
	size_t room = 0;
	ssize_t n;

	if (argc > 1 && !strcmp(argv[1], "--probe"))
		return 0;
	from = fdopen(3, "r");
	to = fdopen(dup(3), "w");
	if (!from || !to)
		return 1;
	while ((n = getline(&frame, &room, from)) > 0) {
		frame[n - 1] = '\0';
		if (!strncmp(frame, "{\"op\":\"hello\"", 13))
			fputs("{\"op\":\"ready\"}\n", to);
		else if (!strncmp(frame, "{\"op\":\"call\"", 12))
			reply(to, frame);
		else if (!strncmp(frame, "{\"op\":\"ping\"", 12))
			fputs("{\"op\":\"pong\"}\n", to);
		fflush(to);
	}
	free(frame);
	return 0;
}
