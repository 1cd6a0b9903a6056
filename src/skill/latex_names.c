#include "skill/latex_names.h"

/* Names and characters alternate. A blank follows each of them. */
static const char *const symbols[] = {
	/* Greek. */
	"alpha α Alpha Α beta β Beta Β gamma γ Gamma Γ delta δ Delta Δ "
	"epsilon ϵ Epsilon Ε zeta ζ Zeta Ζ eta η Eta Η theta θ Theta Θ iota ι "
	"Iota Ι kappa κ Kappa Κ lambda λ Lambda Λ mu μ Mu Μ nu ν Nu Ν xi ξ "
	"Xi Ξ omicron ο Omicron Ο pi π Pi Π rho ρ Rho Ρ sigma σ Sigma Σ tau τ "
	"Tau Τ upsilon υ Upsilon Υ phi ϕ Phi Φ chi χ Chi Χ psi ψ Psi Ψ omega ω "
	"Omega Ω varepsilon ε vartheta ϑ varpi ϖ varrho ϱ varsigma ς varphi φ ",
	/* Letters. */
	"oe œ OE Œ ae æ AE Æ aa å AA Å o ø O Ø ss ß L Ł l ł i ı j ȷ DH Ð dh ð "
	"TH Þ th þ DJ Đ dj đ NG Ŋ ng ŋ ",
	/* Symbols for text. */
	"& & $ $ { { } } % % # # _ _ lbrace { rbrace } "
	"textquoteleft ‘ textquoteright ’ textquotedblright ” "
	"textquotedblleft “ textendash – textemdash — textpm ± texteuro € "
	"textbackslash \\ backslash \\ textasciicircum ˆ textasciitilde ~ "
	"textexclamdown ¡ textquestiondown ¿ textcent ¢ textsterling £ "
	"textyen ¥ textsection § textcopyright © textregistered ® textdegree ° "
	"textmu µ textparagraph ¶ guillemotleft « guillemotright » "
	"textdagger † textdaggerdbl ‡ textbullet • textellipsis … "
	"textperthousand ‰ textasteriskcentered ⁎ ",
	/* Symbols for formulas. The last line has names that are easily missed. */
	"hbar ħ ell ℓ forall ∀ complement ∁ partial ∂ exists ∃ nexists ∄ "
	"varnothing ∅ emptyset ∅ aleph ℵ nabla ∇ in ∈ notin ∉ ni ∋ prod ∏ "
	"coprod ∐ sum ∑ setminus ∖ smallsetminus ∖ ast ∗ circ ∘ bullet ∙ "
	"propto ∝ infty ∞ parallel ∥ nparallel ∦ wedge ∧ vee ∨ cap ∩ cup ∪ "
	"int ∫ iint ∬ iiint ∭ oint ∮ sim ∼ backsim ∽ simeq ≃ approx ≈ neq ≠ "
	"equiv ≡ le ≤ ge ≥ leq ≤ geq ≥ leqslant ⩽ geqslant ⩾ leqq ≦ geqq ≧ "
	"lneqq ≨ gneqq ≩ ll ≪ gg ≫ nless ≮ ngtr ≯ nleq ≰ ngeq ≱ lesssim ≲ "
	"gtrsim ≳ lessgtr ≶ gtrless ≷ prec ≺ succ ≻ preceq ≼ succeq ≽ "
	"precsim ≾ succsim ≿ nprec ⊀ nsucc ⊁ subset ⊂ supset ⊃ subseteq ⊆ "
	"supseteq ⊇ nsubseteq ⊈ nsupseteq ⊉ subsetneq ⊊ supsetneq ⊋ cdot · "
	"times × otimes ⊗ oplus ⊕ bigotimes ⊗ bigoplus ⊕ prime ' dag † "
	"dagger † pm ± mp ∓ ldots … cdots ⋯ ddots ⋱ iddots ⋰ vdots ⋮ dots … "
	"dotsc … dotsb … dotsm … dotsi … dotso … langle ⟨ rangle ⟩ lvert | "
	"rvert | vert | lVert ‖ rVert ‖ Vert ‖ mid | nmid ∤ uparrow ↑ "
	"downarrow ↓ rightarrow → to → leftarrow ← longrightarrow ⟶ "
	"longleftarrow ⟵ Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔ "
	"leftrightarrow ↔ mapsto ↦ div ÷ star ⋆ lnot ¬ therefore ∴ because ∵ "
	"perp ⊥ angle ∠ square □ hslash ℏ sqcup ⊔ vdash ⊢ cong ≅ asymp ≍ "
	"ominus ⊖ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ bigcup ⋃ bigcap ⋂ "
	"cos cos sin sin tan tan arccos arccos arcsin arcsin arctan arctan "
	"cosh cosh sinh sinh tanh tanh arccosh arccosh arcsinh arcsinh "
	"arctanh arctanh ln ln log log exp exp max max min min sup sup inf inf "
	"lim lim "
	"ne ≠ neg ¬ land ∧ lor ∨ gets ← implies ⟹ iff ⟺ LaTeX LaTeX TeX TeX ",
};

/*
 * Each row: an enum latex_action and the names, the arguments, the value, each with a NUL
 * at its end. The rows are one array of characters, since pointers to each would take
 * four times the space.
 */
static const char macros[] =
	/* Macros with a meaning of their own. */
	"k title author date \0{\0\0"
	"T maketitle \0\0\0"
	"d today \0\0\0"
	"t part \0\0\n\nPART: \n\0"
	"t chapter \0*[{\0\n\nCHAPTER: %^3\n\0"
	"t section \0*[{\0\n\n§ %^3\n\0"
	"t subsection \0*[{\0\n\n §.§ %3\n\0"
	"t subsubsection \0*[{\0\n\n  §.§.§ %3\n\0"
	"t paragraph \0\0\n\n  \n\0"
	"t subparagraph \0*[{\0\n\n    %3\n\0"
	"i item \0[\0\0"
	"t footnote \0[{\0[%2]\0"
	"t url \0{\0<%1>\0"
	"t href \0{{\0%2 <%1>\0"
	"t ref autoref cref \0{\0<ref>\0"
	"t Cref \0{\0<Ref>\0"
	"t eqref \0{\0(<ref>)\0"
	"t cite citet citep \0*[[{\0<cit.>\0"
	"t includegraphics \0[{\0\n    < g r a p h i c s >\n\0"
	"t frac nicefrac \0{{\0%1/%2\0"
	"t sqrt \0[{\0√(%2)\0"
	"t ket \0{\0|%1⟩\0"
	"t bra \0{\0⟨%1|\0"
	"t braket \0{{\0⟨%1|%2⟩\0"
	"t ketbra \0{{\0|%1⟩⟨%2|\0"
	"t texorpdfstring \0{{\0%2\0"
	"t textcolor colorbox \0[{{\0%3\0"
	"t fcolorbox \0[{[{{\0%5\0"
	"t \\ \0*[\0\n\0"
	"t vspace \0*{\0\n\0"
	"t , ; : \0\0 \0"
	"t quad \0\0  \0"
	"t qquad \0\0    \0"
	"t limsup \0\0lim sup\0"
	"t liminf \0\0lim inf\0"
	"t - \0\0\xc2\xad\0"

	/* Macros that set the look of their argument. */
	"t emph textrm textit textbf textsc textsl text mathrm overline "
	"underline widehat widetilde overbrace underbrace overleftarrow "
	"overrightarrow mbox textsf texttt textmd textup ensuremath \0{\0%1\0"

	/* Macros for the typesetter only. */
	"t documentclass usepackage RequirePackage selectlanguage hphantom "
	"vphantom \0[{\0\0"
	"t setlength addlength setcounter addcounter \0[{{\0\0"
	"t newcommand renewcommand providecommand \0*{[[{\0\0"
	"t newenvironment renewenvironment provideenvironment \0*{[[{{\0\0"
	"t DeclareMathOperator \0*{{\0\0"
	"t hspace \0*{\0\0"
	"t label input include bibliography hypersetup keywords \0{\0\0"
	"t definecolor providecolor \0[{{{\0\0"
	"t color pagecolor \0[{\0\0"
	"t xleftarrow xrightarrow \0[{\0\0"

	/* Accents. */
	"a ' acute \0{\0\xcc\x81"
	"AÁEÉIÍOÓUÚYÝaáeéiíoóuúyýCĆGǴKḰLĹMḾNŃPṔRŔSŚWẂZŹcćgǵkḱlĺmḿnńpṕrŕsś"
	"wẃzź\0"
	"a ` grave \0{\0\xcc\x80"
	"AÀEÈIÌOÒUÙYỲaàeèiìoòuùyỳNǸWẀnǹwẁ\0"
	"a \" ddot \0{\0\xcc\x88"
	"AÄEËIÏOÖUÜYŸaäeëiïoöuüyÿHḦWẄXẌhḧtẗwẅxẍ\0"
	"a c \0{\0\xcc\xa7"
	"EȨeȩCÇDḐGĢHḨKĶLĻNŅRŖSŞTŢcçdḑgģhḩkķlļnņrŗsştţ\0"
	"a ^ hat \0{\0\xcc\x82"
	"AÂEÊIÎOÔUÛYŶaâeêiîoôuûyŷCĈGĜHĤJĴSŜWŴZẐcĉgĝhĥjĵsŝwŵzẑ\0"
	"a ~ tilde \0{\0\xcc\x83"
	"AÃEẼIĨOÕUŨYỸaãeẽiĩoõuũyỹNÑVṼnñvṽ\0"
	"a H \0{\0\xcc\x8b"
	"OŐUŰoőuű\0"
	"a k \0{\0\xcc\xa8"
	"AĄEĘIĮOǪUŲaąeęiįoǫuų\0"
	"a = \0{\0\xcc\x84"
	"AĀEĒIĪOŌUŪYȲaāeēiīoōuūyȳGḠgḡ\0"
	"a b \0{\0\xcc\xb1"
	"BḆDḎKḴLḺNṈRṞTṮZẔbḇdḏhẖkḵlḻnṉrṟtṯzẕ\0"
	"a . dot \0{\0\xcc\x87"
	"AȦEĖIİOȮYẎaȧeėoȯyẏBḂCĊDḊFḞGĠHḢMṀNṄPṖRṘSṠTṪWẆXẊZŻbḃcċdḋfḟgġhḣmṁnṅ"
	"pṗrṙsṡtṫwẇxẋzż\0"
	"a d \0{\0\xcc\xa3"
	"AẠEẸIỊOỌUỤYỴaạeẹiịoọuụyỵBḄDḌHḤKḲLḶMṂNṆRṚSṢTṬVṾWẈZẒbḅdḍhḥkḳlḷmṃnṇ"
	"rṛsṣtṭvṿwẉzẓ\0"
	"a r \0{\0\xcc\x8a"
	"AÅUŮaåuůyẙwẘ\0"
	"a u breve \0{\0\xcc\x86"
	"AĂEĔIĬOŎUŬaăeĕiĭoŏuŭGĞgğ\0"
	"a v check \0{\0\xcc\x8c"
	"AǍEĚIǏOǑUǓaǎeěiǐoǒuǔCČDĎGǦHȞKǨLĽNŇRŘSŠTŤZŽcčdďgǧhȟjǰkǩlľnňrřsštť"
	"zž\0"
	"a vec \0{\0\xe2\x83\x97\0"
	"a bar \0{\0\xcc\x85\0"
	"a not \0{\0\xcc\xb8"
	"=≠<≮>≯∈∉≡≢⊂⊄⊆⊈∼≁\0"

	/* Alphabets. */
	"s mathbf \0{\0𝐀𝐚\0"
	"s mathit \0{\0𝐴𝑎\0"
	"s mathsf \0{\0𝖠𝖺\0"
	"s mathbb \0{\0𝔸𝕒\0"
	"s mathtt \0{\0𝙰𝚊\0"
	"s mathcal mathscr \0{\0𝒜𝒶\0"
	"s mathfrak \0{\0𝔄𝔞\0";

static const char environments[] =
	"t figure figure* table table* theorem proposition lemma corollary "
	"definition conjecture remark proof thm prop lem cor conj rem defn "
	"enumerate itemize description \0[\0%1\0"
	"t center flushleft flushright \0\0\n%1\n\0"
	"t tabular \0{\0%1\0"
	"t tabular* \0{{\0%1\0"
	"t tabularx \0{[{\0%1\0"
	"t array \0[{\0%1\0"
	"m alignat alignat* \0{\0\0"
	"m equation equation* eqnarray eqnarray* align align* multline "
	"multline* gather gather* flalign flalign* split dmath dmath* \0\0\0";

static bool latex_names_is_among(struct str name, const char *names)
{
	struct str rest = str_c(names);

	while (rest.n)
		if (str_eq(str_cut(&rest, ' '), name))
			return true;
	return false;
}

static bool latex_names_find(
	const char *row, const char *end, struct str name, struct latex_macro *out)
{
	while (row < end) {
		const char *names = row + 2;
		const char *args = names + strlen(names) + 1;
		const char *value = args + strlen(args) + 1;

		if (latex_names_is_among(name, names)) {
			*out = (struct latex_macro){
				(enum latex_action) * row, args, value};
			return true;
		}
		row = value + strlen(value) + 1;
	}
	return false;
}

bool latex_macro(struct str name, struct latex_macro *out)
{
	return latex_names_find(macros, macros + sizeof(macros) - 1, name, out);
}

bool latex_environment(struct str name, struct latex_macro *out)
{
	return latex_names_find(
		environments, environments + sizeof(environments) - 1, name, out);
}

struct str latex_symbol(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
		struct str rest = str_c(symbols[i]);

		while (rest.n) {
			struct str at = str_cut(&rest, ' ');
			struct str text = str_cut(&rest, ' ');

			if (str_eq(at, name))
				return text;
		}
	}
	return STR("");
}

const struct latex_sign *latex_sign(struct str s)
{
	static const struct latex_sign signs[] = {
		{STR("---"), "—"},
		{STR("--"), "–"},
		{STR("``"), "“"},
		{STR("''"), "”"},
		{STR("!`"), "¡"},
		{STR("?`"), "¿"},
		{STR("~"), "\xc2\xa0"},
		{STR("&"), "   "},
	};

	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (str_starts(s, signs[i].from))
			return &signs[i];
	return NULL;
}
