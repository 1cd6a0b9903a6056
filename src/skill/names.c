#include "skill/skill.h"

#include "base/err.h"

static const char *const names[] = {
	[SKILL_OPEN_FILE] = "open_file",
	[SKILL_GOTO_LINE] = "goto_line",
	[SKILL_SCROLL_DOWN] = "scroll_down",
	[SKILL_SCROLL_UP] = "scroll_up",
	[SKILL_SEARCH_DIR] = "search_dir",
	[SKILL_SEARCH_FILE] = "search_file",
	[SKILL_FIND_FILE] = "find_file",
	[SKILL_FILE_EDITOR] = "file_editor",
	[SKILL_PARSE_PDF] = "parse_pdf",
	[SKILL_PARSE_DOCX] = "parse_docx",
	[SKILL_PARSE_LATEX] = "parse_latex",
	[SKILL_PARSE_PPTX] = "parse_pptx",
};

const char *skill_name(size_t i)
{
	return i < ARRAY_LEN(names) ? names[i] : NULL;
}
