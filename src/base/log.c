#include "base/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1024 };

static const char *log_prefix = "od-runtime";
static bool errors_only;

void log_set_name(const char *name)
{
	log_prefix = name;
}

void log_set_quiet(void)
{
	errors_only = true;
}

/*
 * Whether a line can be written without waiting. The reader of the log may have stopped,
 * and must not block us. A writable pipe has space for a line.
 */
static bool log_is_writable(void)
{
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&p, 1, 0) > 0;
}

static void PRINTF(2, 0) log_write_line(const char *level, const char *fmt, va_list ap)
{
	char text[LINE_MAX_BYTES];
	int head = snprintf(text, sizeof(text), "%s: %s", log_prefix, level);
	size_t n = head < 0 ? 0 : (size_t)head;
	int body = vsnprintf(text + n, sizeof(text) - n, fmt, ap);

	if (body > 0)
		n += (size_t)body;
	if (n > sizeof(text) - 1)
		n = sizeof(text) - 1;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = '?';
	text[n++] = '\n';
	if (!log_is_writable())
		return;
	/* An error of the log itself cannot be reported. */
	if (write(STDERR_FILENO, text, n) < 0)
		return;
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	if (errors_only)
		return;
	va_start(ap, fmt);
	log_write_line("", fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	if (errors_only)
		return;
	va_start(ap, fmt);
	log_write_line("warning: ", fmt, ap);
	va_end(ap);
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_write_line("error: ", fmt, ap);
	va_end(ap);
}
