#include "base/err.h"

#include <errno.h>
#include <string.h>

const char *err_text(int err)
{
	switch (err) {
	case 0:
		return "success";
	case ERR_LIMIT:
		return "a size limit was reached";
	case ERR_SYNTAX:
		return "malformed input";
	case ERR_DEPTH:
		return "nested too deeply";
	case ERR_UTF8:
		return "invalid UTF-8";
	case ERR_DUPLICATE:
		return "duplicate name";
	case ERR_TYPE:
		return "value of the wrong type";
	case ERR_RANGE:
		return "number out of range";
	case ERR_CLOSED:
		return "connection closed before the end";
	case ERR_VERSION:
		return "unsupported protocol version";
	case ERR_TLS:
		return "TLS failure";
	case ERR_REFUSED:
		return "refused";
	/* musl's texts differ from glibc's, which people and models expect. */
	case -EIO:
		return "Input/output error";
	case -EBUSY:
		return "Device or resource busy";
	case -EDQUOT:
		return "Disk quota exceeded";
	case -ELOOP:
		return "Too many levels of symbolic links";
	case -ENAMETOOLONG:
		return "File name too long";
	default:
		return err > 0 ? "not yet" : strerror(-err);
	}
}
