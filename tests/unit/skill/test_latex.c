/* LaTeX as text. */
#include "skill/latex.h"

#include "tests/tap.h"

#include <stdlib.h>

static const struct {
	const char *source, *want;
} rows[] = {
	{"", ""},
	{"two  words\n\n\nand a line", "two  words\n\n\nand a line"},
	/* Comments. */
	{"a % b\n  c", "a \n  c"},
	{"a % b\n\nc", "a \n\nc"},
	{"a % b", "a "},
	{"a \\% b", "a % b"},
	/* Groups and macros. */
	{"{a} {b {c}}", "a b c"},
	{"\\textbf{a} \\emph {b} \\emph c", "a b c"},
	{"\\unknown[o]{a} \\other b", "[o]a b"},
	{"\\documentclass[a]{b}\\usepackage{c}\\label{d}\\newcommand*{\\x}[1]{y}z", "z"},
	{"\\begin{document}a\\end{document}", "a"},
	{"\\section{One \\emph{two}}", "\n\n§ ONE TWO\n"},
	{"\\section*[short]{a}", "\n\n§ A\n"},
	{"\\subsection{A}\\subsubsection{B}", "\n\n §.§ A\n\n\n  §.§.§ B\n"},
	{"\\footnote{a}\\url{b}\\href{c}{d}\\cite[p. 1]{e}\\ref{f}",
		"[a]<b>d <c><cit.><ref>"},
	{"\\frac12 \\frac{a}{b} \\frac\\alpha\\beta \\sqrt[3]{x}", "1/2 a/b α/β√(x)"},
	{"a \\\\[2mm] b \\\\* c \\\\ [d]", "a \n b \n c \n [d]"},
	{"\\begin{itemize} \\item a \\item[b] c\\end{itemize}", " \n  * a \n  b c"},
	{"\\begin{tabular}{ll}a & b\\\\ c\\end{tabular}", "a     b\n c"},
	{"\\begin{figure}[h]a\\caption{b}\\end{figure}", "ab"},
	{"\\begin{center}a\\end{center}", "\na\n"},
	{"\\begin{verbatim}\n\\a{%\n\\end{verbatim}b", "\n\\a{%\nb"},
	{"\\verb|\\a{|b \\texttt{c}", "\\a{b c"},
	{"\\title{T}\\author{Me}\\date{D}\\maketitle", "T\n    Me\n    D\n======\n\n"},
	{"\\maketitle\\today",
		"[NO \\title GIVEN]\n    [NO \\author GIVEN]\n    May 1, 2026\n"
		"======================\n\nMay 1, 2026"},
	/* Characters. */
	{"\\'e\\\"{o}\\c c\\v{sx}\\^\\i\\'{\\j}\\vec x", "éöçšx̌îj́x⃗"},
	{"``a'' b-c--d---e~f !`?`",
		"“a” b-c–d—e\xc2\xa0"
		"f ¡¿"},
	{"\\& \\$ \\{ \\_ \\ldots \\quad| \\, \\ x", "& $ { _ …  |    x"},
	{"\\alpha \\Omega \\ss \\LaTeX{} x", "αΩßLaTeX x"},
	/* Formulas. */
	{"$x^2 + \\alpha y$", "x^2 + α y"},
	{"$\\alpha \\beta {a} {b}$ \\alpha \\beta", "αβab αβ"},
	{"\\(a\\) \\[ a\nb \\] $$c$$", "a \n    a\n    b\n \n    c\n"},
	{"$\\leq\\not=\\mathbb{RQx}\\mathbf{Ah}\\mathit h\\ne$", "≤≠ℝℚ𝕩𝐀𝐡ℎ≠"},
	{"\\begin{equation*}\n a \\end{equation*}", "\n    a\n"},
	{"$a$$b$", "ab"},
	/* What is malformed. */
	{"a } b ] c", "a  b ] c"},
	{"{a", "a"},
	{"\\emph{a", "a"},
	{"\\emph", ""},
	{"\\frac{a}", "a/"},
	{"\\footnote[a", "[]"},
	{"$a", "a"},
	{"{$a}b", "ab"},
	{"\\begin{center}{$a\\end{center}b", "\na\nb"},
	{"a\\end{x}b", "ab"},
	{"\\begin{x", "x"},
	{"\\begin{verbatim}a", "a"},
	{"\\verb", ""},
	{"a\\", "a"},
	{"\\emph]{a}\\item[{]}b]c", "]a\n  ]bc"},
};

static void convert(struct str source, struct buf *out, int want)
{
	char *copy = malloc(source.n + !source.n);

	if (!copy)
		exit(1);
	memcpy(copy, source.p, source.n);
	is_int(latex_put_text(str_make(copy, source.n), STR("May 1, 2026"), out), want,
		"it is converted");
	free(copy);
}

static void test_rows(void)
{
	struct buf out = BUF_INIT(1 << 16);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_reset(&out);
		convert(str_c(rows[i].source), &out, 0);
		if (!is_view(buf_view(&out), rows[i].want, "row %zu", i))
			printf("# %s\n", rows[i].source);
	}
	buf_free(&out);
}

/* Whatever is cut off ends all the same. */
static void test_cut(void)
{
	struct buf out = BUF_INIT(1 << 16);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t n = 0; n < strlen(rows[i].source); n++) {
			/* Characters stay whole. */
			if ((rows[i].source[n] & 0xc0) == 0x80)
				continue;
			buf_reset(&out);
			convert(str_make(rows[i].source, n), &out, 0);
		}
	buf_free(&out);
}

static void test_caps(void)
{
	struct buf source = BUF_INIT(1 << 16), out = BUF_INIT(1 << 16);

	for (int i = 1; i < LATEX_DEPTH_MAX; i++)
		buf_putc(&source, '{');
	buf_puts(&source, "a");
	convert(buf_view(&source), &out, 0);
	is_view(buf_view(&out), "a", "as deep as it may be");
	buf_puts(&source, "{b");
	buf_reset(&out);
	convert(buf_view(&source), &out, ERR_DEPTH);
	buf_free(&out);
	buf_init(&out, 16);
	convert(STR("a text that is longer than there is room"), &out, 0);
	is_int(out.err, ERR_LIMIT, "no room");
	buf_reset(&out);
	convert(STR("\\section{more than the room}"), &out, 0);
	is_int(out.err, ERR_LIMIT, "no room in a macro");
	buf_free(&source);
	buf_free(&out);
}

int main(void)
{
	test_rows();
	test_cut();
	test_caps();
	return done_testing();
}
