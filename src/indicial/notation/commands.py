"""What the LaTeX commands and the spelt-out words mean: raw tokens → tokens of the parser.

`\\alpha_{\\text{in}}\\,` → word `α`, sign `_`, sign `{`, text `in`, sign `}`
`sum_{i} dt`             → word `sum`, sign `_`, sign `{`, word `i`, sign `}`, word `Δt`

Runs after macro expansion, since `\\text` and its kin may have come out of a macro. Kinds that
leave here: letter, word, text (words of `\\text`), key (a word of the language), number, mark,
sign (in its one canonical spelling), command (only those with arguments), begin, end, row, quad,
newline, comment.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from indicial.notation.grouping import fractions, own_words, phrase_name, without_idle_braces
from indicial.notation.signs import (
    ACCENT_COMMANDS,
    ANY_SIGN,
    ASCII_NAMES,
    CONDITION_WORDS,
    DOUBLE_LETTERS,
    IN_ENGLISH,
    KEYS,
    LETTER_CHARACTERS,
    LETTER_COMMANDS,
    NAME_COMMANDS,
    RELATIONS,
    SCRIPT_LETTERS,
    SIGN_CHARACTERS,
    SIGN_COMMANDS,
    is_word,
    usual_word,
)
from indicial.notation.source import Span
from indicial.notation.tokens import Token

STRUCTURE = frozenset(ACCENT_COMMANDS) | {
    "\\frac", "\\dfrac", "\\tfrac", "\\cfrac", "\\sqrt", "\\underset", "\\overset", "\\stackrel",
    "\\substack", "\\underbrace", "\\overbrace", "\\xrightarrow", "\\xleftarrow",
    "\\mathop", "\\mathrel", "\\mathbin", "\\ensuremath",
}  # fmt: skip
"""Commands that the parser itself reads, with their arguments."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DROPPED = _words(
    "\\, \\; \\: \\! \\> \\/ \\- \\left \\right \\big \\Big \\bigg \\Bigg \\bigl \\bigr \\Bigl "
    "\\Bigr \\biggl \\biggr \\Biggl \\Biggr \\bigm \\Bigm \\middle \\displaystyle \\textstyle "
    "\\scriptstyle \\scriptscriptstyle \\limits \\nolimits \\nonumber \\notag \\allowbreak "
    "\\noindent \\centering \\thinspace \\medspace \\thickspace \\negthinspace \\enspace \\enskip \\space "
    "\\hfill \\hfil \\vfill \\vfil \\break \\nobreak \\protect \\tiny \\scriptsize \\footnotesize "
    "\\small \\normalsize \\large \\Large \\LARGE \\huge \\Huge \\smallskip \\medskip \\bigskip "
    "\\hline \\null \\strut \\mathstrut \\par \\relax \\newline \\smash \\boxed \\cr \\pause \\boldmath \\unboldmath"
) | {"\\ ", "\\\n", "\\\t"}
_SMALL = _words("\\tiny \\scriptsize \\footnotesize \\small \\scriptstyle \\scriptscriptstyle")
"""Sizes that remarks behind an equation are set in."""
_OVERLAYS = _words("\\visible \\only \\uncover \\onslide \\alert \\mathclap \\mathrlap \\mathllap")
"""Commands of slides and of spacing that show their argument; some have the numbers of slides before it."""
_DROPPED_WITH_ARGUMENT = _words(
    "\\label \\tag \\tag* \\color \\hspace \\hspace* \\vspace \\vspace* \\mspace \\hphantom "
    "\\phantom \\vphantom \\cite \\ref \\eqref \\kern \\mkern \\hskip \\vskip \\intertext "
    "\\shortintertext \\footnote"
)
_FIRST_ARGUMENT_DROPPED = frozenset({"\\textcolor", "\\colorbox", "\\fcolorbox"})
_TEXT = _words(
    "\\text \\mathrm \\textrm \\textbf \\textit \\mbox \\hbox \\operatorname \\operatorname* "
    "\\operatornamewithlimits \\textsf \\texttt \\textnormal \\emph \\textsc"
)
_BOLD = _words("\\mathbf \\boldsymbol \\bm \\pmb \\symbf \\bold \\mathbfit")
_FACES = _BOLD | _words("\\mathit \\mathsf \\mathtt \\mathnormal")
_SANS = _words("\\mathsf")
_ALPHABETS = {
    "\\mathcal": SCRIPT_LETTERS, "\\mathscr": SCRIPT_LETTERS, "\\cal": SCRIPT_LETTERS,
    "\\mathbb": DOUBLE_LETTERS, "\\mathbbm": DOUBLE_LETTERS, "\\mathds": DOUBLE_LETTERS,
    "\\Bbb": DOUBLE_LETTERS, "\\mathfrak": dict[str, str](),
}  # fmt: skip
_GLUED = ("ln", "log", "exp", "sin", "cos", "tanh")
"""Functions that a letter may stand right behind, in italics."""
_SWITCHES = frozenset({"\\rm", "\\bf", "\\it", "\\tt", "\\sf", "\\sc"})
_LARGER = _words("\\left \\big \\Big \\bigg \\Bigg \\bigl \\Bigl \\biggl \\Biggl")
_SPACES = frozenset({"\\quad", "\\qquad"})
_SMALL_SPACES = frozenset({"\\;", "\\:", "\\>", "\\ "})
"""Three of them in a row are as wide as a `\\quad`."""
_WITH_COLUMNS = frozenset({"array", "tabular", "alignat", "alignat*", "alignedat"})
_EXPLICIT_BARS = {
    ("\\left", "|"): "|(", ("\\right", "|"): "|)", ("\\left", "‖"): "‖(", ("\\right", "‖"): "‖)",
    ("\\middle", "|"): "mid",
}  # fmt: skip


def interpret_commands(
    tokens: Sequence[Token], latex: bool, words: frozenset[str] = frozenset()
) -> list[Token]:
    """Commands and words → what they stand for; see the head of this file.

    `words` are runs of letters that were names before.
    """
    return _Reader(fractions(tokens) if latex else tokens, latex, words).run()


def _beside_letters(tokens: Sequence[Token], place: int) -> bool:
    """Whether another letter stands right before or behind the one at a place."""
    behind = tokens[place + 1 : place + 2]
    before = place > 0 and tokens[place - 1].kind == "letter" and not tokens[place].space
    return before or any(t.kind == "letter" and not t.space for t in behind)


class _Reader:
    def __init__(self, tokens: Sequence[Token], latex: bool, words: frozenset[str]) -> None:
        self.tokens, self.latex = tokens, latex
        self.i = 0
        self.out: list[Token] = []
        # The font of the tokens up to a place: `\\boldsymbol{\\hat\\theta}`.
        self.font, self.font_end = "", 0
        # Partners of braces and running counts, taken once, keep every look ahead constant.
        self.partner: dict[int, int] = {}
        self.idle: set[int] = set()
        self.scripts, self.dollars = [0], [0]
        opened: list[int] = []
        for i, token in enumerate(tokens):
            self.scripts.append(self.scripts[-1] + (token.text in ("_", "^")))
            self.dollars.append(self.dollars[-1] + (token.text == "$"))
            if token.text == "{":
                opened.append(i)
            elif token.text == "}" and opened:
                self.partner[opened.pop()] = i

        self.own_words = words | own_words(tokens) if latex else frozenset[str]()

    def run(self) -> list[Token]:
        while self.i < len(self.tokens):
            token = self.tokens[self.i]
            self.i += 1
            if self.i - 1 in self.idle:
                continue
            if token.kind == "command":
                self.command(token)
            elif token.kind == "word":
                self.word(token)
            elif token.kind == "sign":
                self.sign(token)
            elif token.kind == "letter" and self.latex:
                self.letters(token)
            else:
                self.emit(token.kind, token.text, token)
        return without_idle_braces(self.out) if self.latex else self.out

    def letters(self, token: Token) -> None:
        """`softmax(x)`, `KL(p, q)`, `loss = …`: letters side by side that are a word, typed in italics."""
        end = self.i
        while (
            end < len(self.tokens)
            and self.tokens[end].kind == "letter"
            and not self.tokens[end].space
        ):
            end += 1
        ahead = self.tokens[self.i : self.i + 3] if token.text == "s" else ()
        if [t.text for t in ahead] == [".", "t", "."]:
            self.i += 3
            below = any(start < self.i < end for start, end in self.scripted.items())
            self.emit("sign" if below else "text", "," if below else "s.t.", token)
            return
        word = "".join(t.text for t in self.tokens[self.i - 1 : end])
        called = self.opens_call(end)
        scripted = self.i > 1 and self.tokens[self.i - 2].text in ("_", "^")
        capitals = (
            called and len(word) > 1 and word.isupper() and self.lone_letters.isdisjoint(word)
        )
        capitals = capitals and not self.counts(end)
        if scripted or not (word in self.own_words or is_word(word, called) or capitals):
            glued = next((f for f in _GLUED if word.startswith(f)), "")
            if scripted or not 0 < len(word) - len(glued) < 3:
                glued = ""
            end = self.i - 1 + len(glued)
            if not glued:
                self.emit(token.kind, token.text, token)
                return
            word = glued  # `lnE_i`
        self.i = end
        self.emit("word", usual_word(word), token, token.span.to(self.tokens[end - 1].span))

    @cached_property
    def lone_letters(self) -> set[str]:
        """The letters that stand by themselves: those of `BN(W x + b)` do not, those of a product do."""
        letters = (i for i, token in enumerate(self.tokens) if token.kind == "letter")
        return {self.tokens[i].text for i in letters if not _beside_letters(self.tokens, i)}

    @cached_property
    def scripted(self) -> dict[int, int]:
        """Where the braces of scripts begin and end."""
        return {
            a: b for a, b in self.partner.items() if a and self.tokens[a - 1].text in ("_", "^")
        }

    def counts(self, place: int) -> bool:
        """Whether brackets hold a size and a number: the `(L - 1)` of `KT(L - 1)`, a product of sizes."""
        texts = [t.text for t in self.tokens[place : place + 6]]
        inside = texts[texts.index("(") + 1 : texts.index(")")] if ")" in texts else []
        letters = [text for text in inside if text.isalpha()]
        return len(letters) == 1 and letters[0].isupper() and any(map(str.isdigit, inside))

    def opens_call(self, place: int, brackets: str = "(") -> bool:
        """Whether round brackets open there: `BN(`, `BN\\left(`, `BN\\big(`."""
        if place < len(self.tokens) and self.tokens[place].text in _LARGER:
            place += 1
        return place < len(self.tokens) and self.tokens[place].text in tuple(brackets)

    def emit(self, kind: str, text: str, token: Token, span: Span | None = None) -> None:
        font = self.font if self.i <= self.font_end else token.font
        if span is None and (kind, text, font) == (token.kind, token.text, token.font):
            self.out.append(token)
        else:
            self.out.append(Token(kind, text, span or token.span, token.space, font))

    def word(self, token: Token) -> None:
        text = LETTER_CHARACTERS.get(token.text, token.text)
        if text == "Σ":
            self.emit("sigma", text, token)
        elif self.latex:
            self.emit("word", text, token)
        elif text in KEYS:
            self.emit("key", text, token)
        elif text in ("inf", "infinity"):
            self.emit("number", "∞", token)
        elif len(text) == 2 and text[0] == "d" and text[1].isalpha():
            self.emit("word", "Δ" + text[1], token)
        elif text == "xi" and self.alone_below():
            self.emit("word", text, token)
        else:
            self.emit("word", usual_word(ASCII_NAMES.get(text, text)), token)

    def alone_below(self) -> bool:
        """`W_{xi}`: two letters, as in `W_{xf}`; a ξ below a name is `_xi` or `_{\\xi}`."""
        before = [t.text for t in self.out[-2:]]
        behind = self.tokens[self.i].text if self.i < len(self.tokens) else ""
        return before == ["_", "{"] and behind == "}"

    def sign(self, token: Token) -> None:
        if self.latex and token.text == "~":
            return  # a blank that does not break
        self.put_sign(SIGN_CHARACTERS.get(token.text, token.text), token)

    def put_sign(self, text: str, token: Token) -> None:
        if text in ("sum", "prod"):
            self.emit("word", text, token)
        elif text == "∞":
            self.emit("number", text, token)
        else:
            self.emit("sign", text, token)

    def command(self, token: Token) -> None:
        text = token.text
        if text.endswith("*") and text not in _TEXT and text not in _DROPPED_WITH_ARGUMENT:
            # `\alpha*x`: the star is a product sign, not a part of the command.
            star = Token("sign", "*", token.span)
            self.command(Token("command", text[:-1], token.span, token.space))
            self.out.append(star)
        elif text in ("\\overset", "\\stackrel") and self.stacked():
            return
        elif text in STRUCTURE:
            self.out.append(token)
        elif text in _SWITCHES:
            self.switch(token)
        elif text in LETTER_COMMANDS:
            self.emit("word", LETTER_COMMANDS[text], token)
        elif text in SIGN_COMMANDS:
            self.put_sign(SIGN_COMMANDS[text], token)
        elif text in NAME_COMMANDS:
            self.emit("word", NAME_COMMANDS[text], token)
        elif text in _TEXT:
            self.text(token)
        elif text in _FACES:
            self.face(token)
        elif text in _ALPHABETS:
            self.alphabet(token)
        elif text in _SPACES:
            self.emit("quad", text, token)
        elif text in _DROPPED:
            self.dropped(token)
        elif text in _DROPPED_WITH_ARGUMENT or text in _FIRST_ARGUMENT_DROPPED:
            _, end = self.group()
            wide = text.startswith("\\hspace") and "-" not in [
                t.text for t in self.tokens[:end][-3:]
            ]
            if wide and self.latex:
                self.emit("quad", text, token)
        elif text in _OVERLAYS:
            self.overlay()
        elif text in ("\\begin", "\\end"):
            self.environment(token)
        elif text == "\\arg":
            self.arg(token)
        elif text == "\\not":
            self.negated(token)
        elif text == "\\%" and self.out and self.out[-1].kind == "number":
            return  # `\\frac{100\\%}{n}`: counted in hundredths
        elif text == "\\_" and self.i < len(self.tokens) and self.tokens[self.i].text == "{":
            self.emit("sign", "_", token)  # `h\\_{t}`, as Markdown wants it
        elif len(text) == 2 and text[1] in "%&#$_":
            self.emit("sign", text[1] if text[1] != "_" else "\\_", token)
        else:
            self.out.append(token)  # unknown: the parser says so

    def overlay(self) -> None:
        """`\\visible<2->{a = b \\\\}`: what it shows, without its braces, since whole rows may stand in them."""
        texts = [t.text for t in self.tokens[self.i : self.i + 8]]
        if texts[:1] == ["<"] and ">" in texts:
            self.i += texts.index(">") + 1
        if self.i in self.partner:
            self.idle.add(self.partner[self.i])
            self.i += 1

    def dropped(self, token: Token) -> None:
        """`\\left`, `\\right`: the bracket stays, a missing one (`.`) becomes `null`."""
        if token.text in _SMALL and self.small_remark():
            return
        spaces = [t.text in _SMALL_SPACES for t in self.tokens[max(self.i - 3, 0) : self.i]]
        if self.latex and spaces == [True] * 3:
            self.emit("quad", token.text, token)
        if token.text not in ("\\left", "\\right", "\\middle") or self.i >= len(self.tokens):
            return
        following = self.tokens[self.i]
        sign = ANY_SIGN.get(following.text, following.text)
        if sign == ".":
            self.i += 1
            nothing = self.opened_by_nothing(self.i - 2) or self.goes_on()
            if token.text == "\\right" and not nothing:
                self.emit("sign", "null", token, token.span.to(following.span))
        elif (token.text, sign) in _EXPLICIT_BARS:
            self.i += 1
            explicit = _EXPLICIT_BARS[token.text, sign]
            self.emit("sign", explicit, token, token.span.to(following.span))

    def small_remark(self) -> bool:
        """Steps over `\\small{\\text{the weight of } x}` and `{\\small \\text{the weight of } x}`."""
        within = self.tokens[self.i : self.i + 2]
        if self.i in self.partner and within[1].text in _TEXT:
            self.i = self.partner[self.i] + 1
            return True
        if self.i - 2 in self.partner and within and within[0].text in _TEXT:
            self.out.pop()
            self.i = self.partner[self.i - 2] + 1
            return True
        return False

    def opened_by_nothing(self, place: int) -> bool:
        """Whether a `\\right.` closes a `\\left.`: both are nothing."""
        depth = 0
        for i in range(place, max(place - 2_000, -1), -1):
            text = self.tokens[i].text
            depth += (text == "\\right") - (text == "\\left")
            if text == "\\left" and depth == 0:
                return self.tokens[i + 1].text == "."
        return False

    def goes_on(self) -> bool:
        r"""Whether a bracket is interrupted by the end of a line only: `\left( a \right. \\ \left. + b \right)`."""
        idle = {"&", "{", "}", *_SPACES, *_DROPPED} - {"\\left", "\\right"}
        texts = [t.text for t in self.tokens[self.i : self.i + 40] if t.text not in idle]
        end = texts.index("\\\\") if "\\\\" in texts else 0
        closed = end // 2  # further ones that are interrupted there, too
        before, after = ["\\right", "."] * closed, ["\\left", "."] * (closed + 1)
        return texts[:end] == before and texts[end : end + 1 + len(after)] == ["\\\\", *after]

    def arg(self, token: Token) -> None:
        """`\\arg\\max` is argmax."""
        while self.i < len(self.tokens) and self.tokens[self.i].text in _DROPPED:
            self.i += 1
        if self.i < len(self.tokens) and self.tokens[self.i].text in ("\\max", "\\min"):
            following = self.tokens[self.i]
            self.i += 1
            self.emit("word", "arg" + following.text[1:], token, token.span.to(following.span))
        else:
            self.emit("word", "arg", token)

    def negated(self, token: Token) -> None:
        """`\\not=` is ≠, `\\not\\in` is ∉; what else it strikes out is left out, with its row."""
        following = self.tokens[self.i] if self.i < len(self.tokens) else token
        sign = ANY_SIGN.get(following.text, "")
        self.i += following is not token
        self.put_sign({"=": "≠", "∈": "∉"}.get(sign, "¬"), token)

    def group(self) -> tuple[int, int]:
        """Steps over the argument that follows; where its tokens begin and end, without braces.

        A brace that is never closed stays where it is, for the message about brackets.
        """
        if self.i >= len(self.tokens) or self.tokens[self.i].kind == "newline":
            return self.i, self.i
        if self.tokens[self.i].text != "{":
            self.i += 1
            return self.i - 1, self.i
        if self.i not in self.partner:
            return self.i, self.i
        start, end = self.i + 1, self.partner[self.i]
        self.i = end + 1
        return start, end

    def environment(self, token: Token) -> None:
        start, end = self.group()
        name = "".join(t.text for t in self.tokens[start:end])
        span = token.span if end == start else token.span.to(self.tokens[self.i - 1].span)
        self.emit(token.text[1:], name, token, span)
        if token.text != "\\begin":
            return
        ahead = [t.text for t in self.tokens[self.i : self.i + 3]]
        if len(ahead) == 3 and ahead[0] == "[" and ahead[1] in "tbc" and ahead[2] == "]":
            self.i += 3
        if name in _WITH_COLUMNS:
            self.group()

    def face(self, token: Token) -> None:
        """`\\mathbf{q}`: the letters, with their font."""
        bold, sans = token.text in _BOLD, token.text in _SANS
        end = self.partner.get(self.i, 0)
        if bold or sans:
            self.font = "bold" if bold else "sans"
            self.font_end = max(end, self.i) + 1
        if not 0 < end - self.i - 1 <= 60:
            return
        inner = self.tokens[self.i + 1 : end]
        letters = all(t.kind in ("letter", "word", "number") for t in inner)
        if letters and inner[0].kind != "number" and not any(t.space for t in inner[1:]):
            kind = "letter" if self.latex and len(inner) == 1 else "word"
            word = usual_word("".join(t.text for t in inner))
            if len(word) > 1 and self.opens_call(end + 1, "(["):
                self.font_end = 0  # `\\mathbf{Att}[…]`: what a function is set in says nothing
            self.emit(kind, word, token, token.span.to(self.tokens[end].span))
            self.i = end + 1

    def switch(self, token: Token) -> None:
        """`{\\rm softmax}`: the letters that follow are a word."""
        start = self.i
        while self.i < len(self.tokens) and self.tokens[self.i].kind == "letter":
            self.i += 1
        if self.i > start:
            word = usual_word("".join(t.text for t in self.tokens[start : self.i]))
            bold = token.text == "\\bf" and self.i == start + 1
            self.font, self.font_end = ("bold", self.i) if bold else (self.font, self.font_end)
            self.emit("text", word, token, token.span.to(self.tokens[self.i - 1].span))

    def stacked(self) -> bool:
        """`\\overset{def}{=}` is a relation; anything else is left to the parser."""
        second = self.partner.get(self.i, -1) + 1
        if second == 0 or self.partner.get(second, 0) != second + 2:
            return False
        inner = self.tokens[second + 1]
        sign = ANY_SIGN.get(inner.text, "")
        if sign not in RELATIONS:
            return False
        self.emit("sign", sign, inner)
        self.i = second + 3
        return True

    def alphabet(self, token: Token) -> None:
        before = self.i
        start, end = self.group()
        if end == start + 1 and self.tokens[start].kind in ("letter", "word"):
            letter = self.tokens[start].text
            text = _ALPHABETS[token.text].get(letter, letter)
            self.emit("word", text, token, token.span.to(self.tokens[self.i - 1].span))
        else:
            self.i = before

    def text(self, token: Token) -> None:
        """`\\text{if $x$ is flight}` → key `if`, the tokens of x, key `is`, text `flight`."""
        before = self.i
        start, end = self.group()
        if start == end:
            return
        if self.scripts[end] > self.scripts[start] and self.dollars[end] == self.dollars[start]:
            self.i = before  # mathematics in upright type
            self.upright_word(token, start, end)
            return
        if self.tokens[start].text == ";":
            self.step_over_row()
            return
        if self.element(token, start, end):
            return
        span = token.span.to(self.tokens[self.i - 1].span)
        if self.upright(token, span, start, end):
            return
        if remark := self.remark(start, end):
            self.emit("text", remark, token, span)
            return
        words: list[str] = []
        formula: list[Token] | None = None
        for part in self.tokens[start:end]:
            if part.text == "$":
                self.words(words, span, token)
                words = []
                self.out.extend(interpret_commands(formula or (), self.latex))
                formula = [] if formula is None else None
            elif formula is not None:
                formula.append(part)
            elif (part.kind == "command" and len(part.text) > 2) or part.text in ("{", "}"):
                continue
            else:
                blank = part.text == "~" or (part.kind == "command" and part.text != "\\_")
                piece = " " if blank else part.text.removeprefix("\\")
                words.append(" " + piece if part.space else piece)
        self.words(words, span, token)

    def step_over_row(self) -> None:
        """To the end of the row or cell: `c = a + b & \\text{; what } a \\text{ and } b \\text{ are}`."""
        while self.i < len(self.tokens) and self.tokens[self.i].kind != "row":
            if self.tokens[self.i].text in ("&", "}", "\\end"):
                return
            self.i = self.partner.get(self.i, self.i) + 1

    def element(self, token: Token, start: int, end: int) -> bool:
        """`\\texttt{del\\_cost[i]}`, as in a program: the element of a name, and no name with brackets in it."""
        opening = start
        while opening < end and (
            self.tokens[opening].kind == "letter" or self.tokens[opening].text == "\\_"
        ):
            opening += 1
        inner = self.tokens[start:end]
        if opening in (start, end) or any(t.space for t in inner[: opening - start]):
            return False
        closing = [n for n, t in enumerate(inner) if t.text == "]"]
        if self.tokens[opening].text != "[" or closing != [len(inner) - 1]:
            return False
        word = "".join(t.text.removeprefix("\\") for t in self.tokens[start:opening])
        self.emit("text", word, token, token.span.to(self.tokens[opening - 1].span))
        self.out += interpret_commands(self.tokens[opening:end], self.latex)
        return True

    def remark(self, start: int, end: int) -> str:
        """The words of `\\mbox{$μ$ is typically .9}`; what begins with `if` or `for` is a condition."""
        outside: list[str] = []
        formula = False
        for part in self.tokens[start:end]:
            formula ^= part.text == "$"
            if not formula and part.text.isalpha():
                outside.append((" " if part.space else "") + part.text)
        words = "".join(outside).split()
        mixed = self.dollars[end] > self.dollars[start]
        if not mixed or len(words) < 2 or any(word in CONDITION_WORDS for word in words):
            return ""
        return " ".join(words)

    def upright(self, token: Token, span: Span, start: int, end: int) -> bool:
        """`\\mathrm{\\tanh}`, `\\mathrm{\\sigma}`, `\\mbox{\\tt +=}`: what is meant is inside."""
        inner = [
            t for t in self.tokens[start:end] if t.text not in (*_SWITCHES, *_DROPPED, "{", "}")
        ]
        sign = "".join(t.text for t in inner)
        if sign in RELATIONS and sign != "~":
            self.put_sign(RELATIONS[sign], Token(token.kind, token.text, span, token.space))
            return True
        if len(inner) != 1 or inner[0].kind != "command":
            return False
        meant = NAME_COMMANDS.get(sign) or LETTER_COMMANDS.get(sign)
        if meant is not None:
            self.emit("word", meant, token, span)
        return meant is not None

    def upright_word(self, token: Token, start: int, end: int) -> None:
        """`\\mathrm{head_i}`: letters before a script are a word, as they are outside the braces."""
        last = start
        while last < end and self.tokens[last].kind == "letter" and not self.tokens[last].space:
            last += 1
        if last - start < 2 or self.tokens[last].text not in ("_", "^"):
            return
        script = self.tokens[last + 1 : end]
        if len(script) > 1 and all(t.kind == "letter" or t.text == "_" for t in script):
            last = end  # `\\text{update_value}`: of a script in TeX one letter would be left
        word = "".join(t.text for t in self.tokens[start:last])
        self.emit("text", word, token, token.span.to(self.tokens[last - 1].span))
        self.out += interpret_commands(self.tokens[last:end], self.latex)
        self.i = end + 1

    def words(self, pieces: list[str], span: Span, token: Token) -> None:
        """A stretch of text: words of the language one by one, the rest together."""
        text = "".join(pieces)
        first, *rest = text.split() or ("",)
        if rest and first in ("and", "or") and KEYS.isdisjoint(rest):
            text = first  # `\\text{ and hence }`
        text = IN_ENGLISH.get(
            " ".join((first, *rest)).strip(".,;:").lower(), text
        )  # `en otro caso`
        colon = text.rstrip().endswith(":")
        together: list[str] = []

        def flush() -> None:
            if together:
                joined = " ".join(together)
                joined = {"arg max": "argmax", "arg min": "argmin"}.get(joined, joined)
                joined = phrase_name(joined) if joined in self.own_words else joined
                kind = "key" if joined in KEYS else "text"
                self.emit(kind, usual_word(joined), token, span)
                together.clear()

        for raw in text.replace(":", " ").split() if colon else text.split():
            word = raw.strip(".,;")
            word = IN_ENGLISH.get(word.lower(), word)
            if not word:
                flush()
                if "," in raw:
                    self.emit("sign", ",", token, span)
            elif word in KEYS and word not in ("in", "notin"):
                flush()
                self.emit("key", word, token, span)
            elif word in ("all", "every", "each", "any") and self.after_for(together):
                continue
            else:
                together.append(word)
        flush()
        if colon:
            self.emit("sign", ":", token, span)

    def after_for(self, together: list[str]) -> bool:
        return not together and bool(self.out) and self.out[-1].text == "for"
