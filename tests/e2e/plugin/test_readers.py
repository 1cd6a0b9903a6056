#!/usr/bin/env python3
"""The skills that read documents."""
import os
import shutil
import subprocess
import tempfile
import zipfile

from harness import CLIENT, PLUGINS, WRAP, eq, main, ok, skip

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def relations(*rows):
    """(id, the end of the type, target) each."""
    return (f'<Relationships xmlns="{RELATIONS}">' + "".join(
        f'<Relationship Id="{i}" Type="{R}/{kind}" Target="{target}"/>' for i, kind, target in rows)
        + "</Relationships>")


def package(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("[Content_Types].xml", "<Types/>")
        for name, text in parts.items():
            z.writestr(name, text)
    return path


def document(body, front=""):
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{front}<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'


def word(path, body, **more):
    return package(path, {"_rels/.rels": relations(("rId1", "officeDocument", "word/document.xml")),
                          "word/document.xml": document(body), **more})


def shape(*paragraphs):
    return ('<p:sp><p:nvSpPr/><p:txBody><a:bodyPr/>' + "".join(f"<a:p>{p}</a:p>" for p in paragraphs)
            + "</p:txBody></p:sp>")


def slide(*shapes):
    return (f'<p:sld xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{R}"><p:cSld><p:spTree><p:nvGrpSpPr/>'
            + "".join(shapes) + "</p:spTree></p:cSld></p:sld>")


def power(path, slides, order=None):
    """slides: their texts by number; order: of the numbers."""
    order = order or sorted(slides)
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="rId{n}"/>' for n in order)
    return package(path, {
        "_rels/.rels": relations(("x", "extended-properties", "docProps/app.xml"),
                                 ("rId1", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{P}" xmlns:r="{R}"><p:sldMasterIdLst/>'
                                f"<p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(*((f"rId{n}", "slide", f"slides/slide{n}.xml") for n in slides)),
        **{f"ppt/slides/slide{n}.xml": text for n, text in slides.items()}})


class Readers:
    def __enter__(self):
        self.top = tempfile.mkdtemp(prefix="od-readers-")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top)

    def path(self, name):
        return os.path.join(self.top, name)

    def call(self, name, *args):
        """What the skill prints, and its exit code."""
        link = self.path("skill-" + name)
        if not os.path.lexists(link):
            os.mkdir(link)
            os.symlink(PLUGINS, link + "/" + name)
        done = subprocess.run([f"{link}/{name}", *args], cwd=self.top, capture_output=True)
        return done.stdout.decode(), done.returncode

    def write(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)
        return name


def paragraph(inner):
    return f"<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr>{inner}</w:p>"


def run(inner):
    return f"<w:r><w:rPr/>{inner}</w:r>"


def text(inner):
    return run(f'<w:t xml:space="preserve">{inner}</w:t>')


def test_docx():
    with Readers() as readers:
        def read(body):
            word(readers.path("a.docx"), body)
            out, code = readers.call("parse_docx", "a.docx")
            front = "[Reading DOCX file from a.docx]\n"
            ok(out.startswith(front) and out.endswith("\n") and code == 0, "it is read", out)
            return out[len(front):-1]

        eq(read(paragraph(text("Hello, this is a test document.")) + paragraph(text("This is the second paragraph."))),
           "@@ Page 1 @@\nHello, this is a test document.\n\n@@ Page 2 @@\nThis is the second paragraph.\n\n",
           "each paragraph counts as a page")
        eq(read(""), "", "no paragraph")
        eq(read("<w:p/>" + paragraph("")), "@@ Page 1 @@\n\n\n@@ Page 2 @@\n\n\n", "empty ones")
        eq(read(paragraph(text("a&amp;b &#x4e2d;") + run("<w:tab/><w:t>c</w:t><w:br/><w:t>d</w:t><w:cr/>"
                "<w:noBreakHyphen/><w:ptab/>"))), "@@ Page 1 @@\na&b \u4e2d\tc\nd\n-\t\n\n", "characters and breaks")
        eq(read(paragraph(run('<w:t>1</w:t><w:br w:type="page"/><w:t>2</w:t><w:br w:type="textWrapping"/>'
                              '<w:t>3</w:t><w:br w:type="column"/>'))), "@@ Page 1 @@\n12\n3\n\n",
           "a break of the page is none of the line")
        eq(read(paragraph(text("see ") + f"<w:hyperlink>{text('the link')}{run('<w:tab/>')}</w:hyperlink>")),
           "@@ Page 1 @@\nsee the link\t\n\n", "links")
        eq(read(paragraph(text("1")) + f"<w:tbl><w:tr><w:tc>{paragraph(text('cell'))}</w:tc></w:tr></w:tbl>"
                + f"<w:sdt><w:sdtContent>{paragraph(text('control'))}</w:sdtContent></w:sdt>"
                + paragraph(f"<w:ins>{text('added')}</w:ins><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
                            + text("2")) + "<w:sectPr/>"),
           "@@ Page 1 @@\n1\n\n@@ Page 2 @@\n2\n\n", "tables and the like are left out")
        package(readers.path("b.docx"), {"word/document.xml": document(paragraph(text("x"))).replace(
            "w:", "n:").replace(":w=", ":n=")})
        eq(readers.call("parse_docx", "--file_path", "b.docx")[0],
           "[Reading DOCX file from b.docx]\n@@ Page 1 @@\nx\n\n\n", "another prefix, and no relations")
        package(readers.path("c.docx"), {
            "_rels/.rels": relations(("a", "officeDocument", "/word/../word/./document2.xml")),
            "word/document2.xml": document(paragraph(text("y"))).replace(
                W, "http://purl.oclc.org/ooxml/wordprocessingml/main")})
        eq(readers.call("parse_docx", readers.path("c.docx"))[0],
           f"[Reading DOCX file from {readers.top}/c.docx]\n@@ Page 1 @@\ny\n\n\n", "another name, and the strict kind")
        word(readers.path("big.docx"), paragraph(text("word " * 1000)) * 2000)
        out, code = readers.call("parse_docx", "big.docx")
        eq((code, out.count("word"), out.count("@@ Page")), (0, 2000000, 2000), "ten million characters")


def test_docx_refused():
    with Readers() as readers:
        def fails(name, why):
            eq(readers.call("parse_docx", name), (f"ERROR: {why}\n", 1), why)

        fails("no.docx", "Package not found at 'no.docx'")
        fails(".", "Package not found at '.'")
        readers.write("text.docx", b"some text")
        fails("text.docx", "Package not found at 'text.docx'")
        os.mkfifo(readers.path("pipe.docx"))
        fails("pipe.docx", "Package not found at 'pipe.docx'")
        package(readers.path("empty.docx"), {})
        fails("empty.docx", "word/document.xml: the file has no such part")
        with open(word(readers.path("cut.docx"), paragraph(text("x"))), "r+b") as f:
            f.truncate(200)
        fails("cut.docx", "Package not found at 'cut.docx'")
        word(readers.path("bad.docx"), paragraph("</w:r>"))
        fails("bad.docx", "word/document.xml: a tag closes what is not open")
        package(readers.path("bomb.docx"), {"word/document.xml": document(
            paragraph(text("&b;")), '<!DOCTYPE a [<!ENTITY b "bbbb">]>')})
        fails("bomb.docx", "word/document.xml: it has a document type")
        package(readers.path("rels.docx"), {"_rels/.rels": "<a>"})
        fails("rels.docx", "_rels/.rels: it is cut off")
        word(readers.path("zeros.docx"), paragraph(text("0" * (70 << 20))))
        out, code = readers.call("parse_docx", "zeros.docx")
        ok(code == 1 and out.startswith("ERROR: "), "too large a part", out[:200])


def test_pptx():
    with Readers() as readers:
        def read(slides, order=None):
            power(readers.path("a.pptx"), slides, order)
            out, code = readers.call("parse_pptx", "a.pptx")
            front = "[Reading PowerPoint file from a.pptx]\n"
            ok(out.startswith(front) and out.endswith("\n") and code == 0, "it is read", out)
            return out[len(front):-1]

        def line(inner):
            return f"<a:r><a:rPr/><a:t>{inner}</a:t></a:r>"

        eq(read({1: slide(shape(line("Hello, this is the first test PPTX slide.")), shape("")),
                 2: slide(shape(line("Hello, this is the second test PPTX slide.")), shape(""))}),
           "@@ Slide 1 @@\nHello, this is the first test PPTX slide.\n\n"
           "@@ Slide 2 @@\nHello, this is the second test PPTX slide.\n", "titles, and empty subtitles")
        eq(read({}), "", "no slide")
        eq(read({1: slide(shape(line("one"))), 2: slide(), 3: slide(shape(line("three")))}, [3, 1, 2]),
           "@@ Slide 1 @@\nthree\n@@ Slide 2 @@\none\n@@ Slide 3 @@", "the order of the presentation")
        eq(read({1: slide(shape(line("a") + "<a:br/>" + line("b&lt;"), "", line("c") + "<a:fld><a:t>7</a:t></a:fld>"),
                          "<p:pic/>", "<p:cxnSp/>", "<p:sp><p:nvSpPr/></p:sp>",
                          f"<p:grpSp>{shape(line('in a group'))}</p:grpSp>", "<p:graphicFrame/>",
                          shape(line("end")))}),
           "@@ Slide 1 @@\na\x0bb<\n\nc7\n\nend", "what has text, and what has none")


def test_pptx_refused():
    with Readers() as readers:
        def fails(name, why):
            eq(readers.call("parse_pptx", name),
               (f"[Reading PowerPoint file from {name}]\nError reading PowerPoint file: {why}\n", 1), why)

        fails("no.pptx", "Package not found at 'no.pptx'")
        package(readers.path("empty.pptx"), {})
        fails("empty.pptx", "ppt/_rels/presentation.xml.rels: the file has no such part")
        power(readers.path("a.pptx"), {1: slide()}, [1, 2])
        fails("a.pptx", "there is no slide 'rId2'")
        power(readers.path("b.pptx"), {1: slide(), 2: "<a/>b"})
        fails("b.pptx", "ppt/slides/slide2.xml: there is text outside of all elements")


def test_latex():
    with Readers() as readers:
        readers.write("a.tex", rb"""
        \documentclass{article}
        \begin{document}
        Hello, this is a test LaTeX document. % and a comment
        \end{document}
        """)
        eq(readers.call("parse_latex", "a.tex"),
           ("[Reading LaTex file from a.tex]\nHello, this is a test LaTeX document.\n", 0), "a document")
        readers.write("b.tex", "\\section{\u00e4}\r\nb".encode())
        name = "line ends, capitals"
        if "asan" in CLIENT:
            skip(name, "glibc without a locale knows the capitals of ASCII only")
        else:
            eq(readers.call("parse_latex", "b.tex")[0],
               "[Reading LaTex file from b.tex]\n\u00a7 \u00c4\n\nb\n", name)
        ok("\n    20" in readers.call("parse_latex", readers.write("c.tex", rb"\maketitle"))[0].replace(", ", "\n    "),
           "the present year")
        eq(readers.call("parse_latex", "no.tex"), ("ERROR: File no.tex not found.\n", 1), "no file")
        out, code = readers.call("parse_latex", readers.write("d.tex", b"\xff"))
        ok(code == 1 and out.startswith("ERROR: File d.tex cannot be read: "), "no UTF-8", out)
        out, code = readers.call("parse_latex", readers.write("e.tex", b"{" * 1000))
        ok(code == 1 and out.startswith("ERROR: File e.tex cannot be read: "), "nested too deeply", out)


def test_pdf():
    with Readers() as readers:
        out, code = readers.call("parse_pdf", "a.pdf")
        ok(code == 1 and out.startswith("ERROR: [No PDF text extractor available]"), "what is missing is said", out)


if WRAP:
    skip("readers", "a wrapper hides the name of the program")
main()
