"""Names with their decorations, scripts, and the arguments of commands.

\\tilde h'_{in}^{(2)}   →   Name("h", ("tilde",), 1, sub=(in,), sup=((2),))
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.cursor import Grammar
from indicial.notation.faults import Refusal
from indicial.notation.signs import ACCENT_COMMANDS, LABEL_SIGNS, MARKS, is_word, usual_word
from indicial.notation.source import Span
from indicial.notation.tokens import Token
from indicial.notation.vocabulary import REDUCTIONS, WORDS_BELOW

_REDUCTIONS = frozenset(REDUCTIONS)
_NAME_KINDS = frozenset({"letter", "word", "sigma", "text"})
_K = (s.Name("k"),)
_SCRIPT_SIGNS = frozenset("*+-:•") | LABEL_SIGNS
"""Signs that stand alone in a script: `Φ^*`, `P^-_k`, `W_{:,i}`."""


class NameGrammar(Grammar):
    """Names, scripts and the arguments of commands."""

    def is_name(self, token: Token) -> bool:
        # The words of the language are names in scripts: `h_{in}`.
        return token.kind in _NAME_KINDS or (token.kind == "key" and self.script_depth > 0)

    def reduction_word(self, token: Token) -> str:
        if token.kind == "sigma":
            return "sum"
        return token.text if token.kind in ("word", "text") and token.text in _REDUCTIONS else ""

    def base_name(self) -> s.Name:
        """The name here without scripts: a letter, a word, `Δt`, `W.grad`, with its accents."""
        token = self.peek()
        if token.kind == "command":
            return self.accented(token)
        if not self.is_name(token):
            raise self.unexpected(token, "a name")
        self.i += 1
        base = token.text
        if token.kind == "letter" and self.script_depth:
            base = self.merged(base)
        while self.peek().text == "\\_" and not self.peek().space:  # `trust\\_ratio`
            after = self.tokens[self.i + 1]
            if after.kind not in ("letter", "word"):
                break
            self.i += 2
            base += "_" + (self.merged(after.text) if after.kind == "letter" else after.text)
        if token.kind == "text" and base == "E" and not self.script_depth:
            base = "𝔼"  # upright, it is no letter of a tensor
        if token.kind == "text" and " " in base and not self.script_depth:
            raise Refusal("words", f"it holds the words “{base}”", (token.span,), skip=True)
        braced = self.latex and self.at("{") and self.tokens[self.i + 2].text == "}"
        following = self.tokens[self.i + braced]  # `\\Delta\\mathbf{\\Sigma}`
        if base == "Δ" and following.kind in _NAME_KINDS and not self.reduction_word(following):
            base += following.text
            self.i += 3 if braced else 1
            token = replace(token, font=following.font) if following.font else token
        while self.at(".") and self.tokens[self.i + 1].kind in (*_NAME_KINDS, "key"):
            self.i += 1
            word = self.peek()
            self.i += 1
            base += "." + (self.merged(word.text) if word.kind == "letter" else word.text)
        accents = []
        while self.peek().kind == "mark":
            accents.append(MARKS[self.peek().text])
            self.i += 1
        return s.Name(base, tuple(accents), font=font_of(token), span=self.since(token))

    def merged(self, base: str) -> str:
        """In a script a run of letters is a word: `h_{in}`, `W^{FF1}`."""
        pieces = [base]
        while not (token := self.peek()).space:
            following = self.tokens[self.i + 1]
            if token.text == "\\_" and following.kind in ("letter", "word"):
                pieces.append("_" + following.text)  # `L_{KD\_image}`
                self.i += 2
                continue
            if token.kind not in ("letter", "number"):
                break
            if token.kind == "number" and not token.text.isdigit():
                break
            pieces.append(token.text)
            self.i += 1
        return usual_word("".join(pieces))

    def accented(self, token: Token) -> s.Name:
        """`\\tilde h`, `\\hat{W}`: the accent goes on the name that is its argument."""
        accent = ACCENT_COMMANDS.get(token.text)
        if accent is None:
            raise self.unexpected(token, "a name")
        self.i += 1
        self.enter(token)
        body = self.argument()
        self.depth -= 1
        while isinstance(body, s.Group):
            body = body.body
        if isinstance(body, s.Product) and _one_word(body):
            letters = "".join(body.span.text.split())
            body = s.Name(letters, span=body.span)
        if not isinstance(body, s.Name):
            raise Refusal("accent", f"`{token.text}` can only go over a name",
                          (self.since(token),))  # fmt: skip
        return replace(body, accents=(*body.accents, accent), span=self.since(token))

    def decorate(self, name: s.Name, token: Token) -> tuple[s.Name, bool]:
        """Adds the primes and scripts that follow; the flag says that it is transposed."""
        transposed = False
        while True:
            if self.at("'"):
                self.i += 1
                name = replace(name, primes=name.primes + 1)
            elif self.at(".") and not self.script_depth and self.at_member():
                # `h_{t-1}.\\text{grad}`: accents and scripts end the letter, not the name.
                name = replace(name, base=f"{name.base}.{self.tokens[self.i + 1].text}")
                self.i += 2
            elif self.at("{") and self.ahead("_", 1) and not name.sub:
                self.i += 1  # `h{_t}` is set like `h_t`
                name = replace(name, sub=self.script())
                self.expect("}")
            elif self.at("_"):
                if name.sub:
                    raise Refusal("script", "a second subscript", (self.peek().span, name.span),
                                  "combine the two with a comma")  # fmt: skip
                name = replace(name, sub=self.script())
            elif self.at("^") and not transposed:
                before = self.peek()
                items, primes, transposed = self.superscript()
                if items and name.sup:
                    raise Refusal("script", "a second superscript", (before.span, name.span),
                                  "combine the two with a comma")  # fmt: skip
                if items and isinstance(items[0], s.TupleLiteral) and "<" in items[0].span.text:
                    name, items = replace(name, sub=name.sub + items[0].items), ()  # `α^{<t,s>}`
                name = replace(name, sup=name.sup + items, primes=name.primes + primes)
            else:
                number = self.tokens[self.i]
                if number.kind == "number" and self.numbers(name, number):
                    self.i += 1
                    name = replace(name, sub=(s.Number(number.text, span=number.span),))
                span = self.since(token)
                if name.base.lower() == "top" and name.sub == _K and self.at("("):
                    name = replace(name, base="topk", sub=())  # no element k of a tensor
                return name if name.span == span else replace(name, span=span), transposed

    def numbers(self, name: s.Name, number: Token) -> bool:
        """The 1 of `w1 * x1`: nobody multiplies so."""
        behind = self.latex and not (number.space or name.scripts or self.script_depth)
        return behind and number.text.isdigit() and len(name.base) == 1

    def at_member(self) -> bool:
        """Whether a word stands directly behind the dot: `W^R.grad`, and no sentence that ends."""
        word = self.tokens[self.i + 1]
        return (
            word.kind in ("text", "word")
            and word.text.isalpha()
            and len(word.text) > 1
            and (not word.space and not self.peek().space)
        )

    def script(self) -> tuple[s.Expression, ...]:
        """`_…`: what stands below."""
        self.i += 1
        return tuple(index for item in self.braced_script() for index in _beside(item))

    def superscript(self) -> tuple[tuple[s.Expression, ...], int, bool]:
        """`^…`: the expressions above, the number of primes, and whether there is a ⊤."""
        self.i += 1
        braced = self.at("{")
        start = self.i
        self.i += braced
        primes = 0
        while self.at("'"):
            primes += 1
            self.i += 1
        transposed = self.at("⊤")
        self.i += transposed
        if transposed or primes:
            if not braced:
                return (), primes, transposed
            if self.at("}"):
                self.i += 1
                return (), primes, transposed
        if transposed:
            raise self.unexpected(self.peek(), "`}`")
        if not primes:
            self.i = start
            items = self.braced_script()
        else:
            items = self.script_items()
        # `W^{Q\top}`: the transpose stands last, and braced_script leaves it in `raised_top`.
        transposed, self.raised_top = self.raised_top, False
        primes, self.raised_primes = primes + self.raised_primes, 0
        items, turned = _raised(items)
        return items, primes, transposed or turned

    raised_top = False
    raised_primes = 0
    left_open = False
    """Whether a `\\bullet` holds the place of something."""

    def braced_script(self) -> tuple[s.Expression, ...]:
        """A script or an argument in the type of a script: braces with a list, or one token."""
        if self.at("{"):
            self.i += 1
            return self.script_items()
        self.script_depth += 1
        item = self.single(script=True)
        self.script_depth -= 1
        return (item,)

    def script_items(self) -> tuple[s.Expression, ...]:
        """The list in a script, after its opening brace, up to and with the closing one."""
        if self.at("}"):
            self.i += 1
            return ()
        if self.peek().text == "\\substack" and self.ahead("{", 1):
            self.i += 2
            stacked = self.script_items()
            self.expect("}")
            return stacked
        self.script_depth += 1
        bars, i = 0, self.i
        while (sign := self.tokens[i].text) != "}":
            bars += sign == "|" or sign == "mid"
            i += 1
        known = bars == 1 and self.latex  # the script of `P_{k|k-1}`, and not of `x_{2|V|}`
        self.bars.append("call" if known else "{")
        items: tuple[s.Expression, ...] = ()
        while True:
            token = self.peek()
            if self.latex and self.at("*") and self.ahead("*", 1):  # `K_{**}`
                items += (self.single(script=True),)
                continue
            if self.latex and (whole := self.whole_axis(token)):
                items += whole
                if self.at(","):
                    self.i += 1
                elif self.at("}"):
                    break
                continue
            alone = any(self.ahead(sign, 1) for sign in ("}", ",", "⊤"))
            if alone and token.kind == "sign" and token.text in _SCRIPT_SIGNS:
                items += (self.single(script=True),)
            elif self.latex and self.at_dimensions(token):
                self.i += 2
                items += (s.Name(f"{token.text}D", font="roman", span=self.since(token)),)
            else:
                items += (_hyphenated(self.stretch() or self.expression()),)
            if self.latex and self.at("→") and isinstance(items[-1], s.Name):
                self.i += 1
                items = (*items[:-1], _pointing(items[-1], self.factor(), self.since(token)))
            if self.latex and self.at(":") and isinstance(items[-1], s.Number | s.Name):
                colon = self.i
                self.i += 1
                ends = items[-1], self.sum()
                if self.at("}"):
                    items = (*items[:-1], s.Comparison(ends, (":",), span=self.since(token)))
                else:
                    self.i = colon  # `Σ_{y: y[i] = c}`: a condition
            if known and (self.at("|") or self.at("mid")):
                self.i += 1
                items = (*items[:-1], *_known(items[-1], self.sum(), self.since(token)))
            such_that = self.latex and self.at(":")  # `Σ_{i: x_i = w}`
            if self.at(",") or self.peek().kind == "row" or such_that:
                self.i += 1
                continue
            break
        self.bars.pop()
        self.script_depth -= 1
        if not self.at("}"):
            while self.at("'"):  # `g^{[l]'}`
                self.i += 1
                self.raised_primes += 1
            if self.at("⊤"):
                self.i += 1
                self.raised_top = True
        self.expect("}")
        return items

    def whole_axis(self, token: Token) -> tuple[s.Expression, ...]:
        """The `:` and `·` of `X_{i,:}`, `X_{i·}`, `V_{:c}`: all along an axis. Nothing where there is none."""
        here = self.i + (token.kind == "letter")
        sign, behind = self.tokens[here], self.tokens[here + 1]
        ends = behind.text in ("}", ",") or (sign is token and behind.kind == "letter")
        if sign.text not in (":", "·") or not ends:
            return ()
        before = () if sign is token else (self.single(script=True),)
        self.i = here + 1
        return *before, s.Name(":", span=sign.span)

    def at_dimensions(self, token: Token) -> bool:
        """The 3D of `x_{3D}`: a word, and no three times D."""
        letter = self.tokens[self.i + 1]
        return (
            token.text in ("1", "2", "3")
            and letter.text == "D"
            and not letter.space
            and any(self.ahead(sign, 2) for sign in ("}", ","))
        )

    def stretch(self) -> s.Expression | None:
        """The `<t` of `w_{<t}`: all before t. None for the `<t>` of `h^{<t>}`."""
        token = self.peek()
        if not self.latex or token.kind != "sign" or token.text not in ("<", "≤"):
            return None
        behind = (t.text for t in self.tokens[self.i + 1 :])
        if next((sign for sign in behind if sign in (">", "}")), "") == ">":
            return None
        self.i += 1
        operands = s.Dots(span=token.span), self.sum()
        return s.Comparison(operands, (token.text,), span=self.since(token))

    def argument(self) -> s.Expression:
        """The argument of a command: a brace group, or one token."""
        if not self.at("{"):
            return self.single(script=False)
        self.i += 1
        self.bars.append("{")
        body = self.expression()
        self.bars.pop()
        self.expect("}")
        return body

    def single(self, script: bool) -> s.Expression:
        """One token as a script or an argument: `x_1`, `W^Q`, `\\frac12`, `\\tilde h`."""
        token = self.peek()
        if token.kind == "number":
            if self.latex and len(token.text) > 1 and token.text.isdigit():
                # TeX takes one digit; the others stay on the line.
                self.tokens[self.i] = replace(token, text=token.text[1:], space=False)
                return s.Number(token.text[0], span=token.span)
            self.i += 1
            return s.Number(token.text, span=token.span)
        if token.kind in _NAME_KINDS or (token.kind == "key" and script):
            self.i += 1
            if not script and token.text == "Δ":
                self.i -= 1
                return self.base_name()
            base = "Σ" if token.kind == "sigma" else token.text
            name = s.Name(base, font=font_of(token), span=token.span)
            if not self.latex and self.peek().kind == "mark":
                self.i -= 1
                return self.base_name()
            return name
        if token.kind == "sign" and token.text in _SCRIPT_SIGNS and script:
            self.i += 1
            self.left_open = self.left_open or token.text == "•"
            return (
                s.Star(span=token.span)
                if token.text == "*"
                else s.Name(token.text, span=token.span)
            )
        if token.kind == "command" and token.text in ACCENT_COMMANDS:
            return self.accented(token)
        if token.kind == "command" or (token.kind == "sign" and token.text in ("(", "[", "\\{")):
            return self.factor()
        raise self.unexpected(token, "an argument" if not script else "a script")


def _one_word(product: s.Product) -> bool:
    """The ACF of `\\widehat{ACF}(t)`: three letters or more; `\\overline{xy}` is a mean of products."""
    plain = all(isinstance(f, s.Name) and f.bare and len(f.base) == 1 for f in product.factors)
    letters = product.span.text
    return plain and len(letters) == len(product.factors) > 2 and letters.isalpha()


_LOGISTIC = re.compile(r"\b(logistic|sigmoid)\b", re.IGNORECASE)


_HYPHENATED = re.compile(r"[^\W\d_]{3,}(?:-[^\W\d_]{3,})+")


def _hyphenated(script: s.Expression) -> s.Expression:
    """The `arc\\text{-}head` of `H^{(arc\\text{-}head)}`: one word. That of `L_{logistic}` is no σ."""
    product = s.inner(script)
    if (
        isinstance(product, s.Name)
        and product.base == "σ"
        and (label := _LOGISTIC.search(product.span.text))
    ):
        return replace(product, base=label[0], font="roman")
    if isinstance(product, s.Add) and _HYPHENATED.fullmatch(product.span.text):
        words = [product.span.text]  # `L_{cross-entropy}`
    else:
        factors = product.factors if isinstance(product, s.Product) else ()
        words = [f.base for f in factors if isinstance(f, s.Name) and f.bare]
        if "-" not in words[1:-1] or len(words) < len(factors):
            return script
    word = s.Name("".join(words), font="roman", span=product.span)
    return replace(script, body=word) if isinstance(script, s.Group) else word


def _pointing(one: s.Name, other: s.Expression, span: Span) -> s.Name:
    """The `h \\to y` of `W_{h \\to y}`: a label."""
    if not isinstance(other, s.Name) or not one.bare or not other.bare:
        raise Refusal("script", "it uses an arrow", (span,), skip=True)
    return s.Name(f"{one.base}→{other.base}", font="roman", span=span)


def _known(step: s.Expression, last: s.Expression, span: Span) -> tuple[s.Expression, s.Expression]:
    """The `k|k-1` of `P_{k|k-1}`: at step k, by what is known a step before; and `k-1|k-1` is `k|k` at k-1."""
    (letter, shift), (other, by) = _shifted(step), _shifted(last)
    if letter is None or letter != other:
        raise Refusal("script", "it is known by something else", (span,), skip=True)
    lag = by - shift
    label = s.Name(f"|{letter}{lag:+}" if lag else f"|{letter}", font="roman", span=last.span)
    return step, label


def _shifted(node: s.Expression) -> tuple[str | None, int]:
    """The k and the -1 of `k-1`."""
    match node:
        case s.Name(base=letter) if node.bare and len(letter) == 1:
            return letter, 0
        case s.Add(terms=(s.Name() as name, s.Number(text=text))) if text.isdigit():
            return _shifted(name)[0], int(text)
        case s.Add(terms=(s.Name() as name, s.Negative(body=s.Number(text=text)))) if (
            text.isdigit()
        ):
            return _shifted(name)[0], -int(text)
    return None, 0


def _raised(items: tuple[s.Expression, ...]) -> tuple[tuple[s.Expression, ...], bool]:
    """What stands above a name: `[L](i)` are two things, `[l] T` and `(l)^T` one and a ⊤, `[1]` is no list."""
    turned = False
    match items:
        case (s.Power(base=s.Group() as above, exponent=s.Name(base="T")),) | (
            s.Transpose(body=s.Group() as above),
        ):
            return (_numbered(above),), True
    if len(items) == 1 and isinstance(items[0], s.Product):
        *before, last = map(_numbered, items[0].factors)
        if all(isinstance(f, s.Group) for f in before):
            turned = last == s.Name("T")
            if turned or isinstance(last, s.Group):
                items = tuple(before) if turned else (*before, last)
    return tuple(map(_numbered, items)), turned


def _numbered(item: s.Expression) -> s.Expression:
    """The `[1]` of `W^{[1]}`, in brackets as it stands; the words of `H^{(arc-head)}`, which no sign divides."""
    match item:
        case s.Group(body=s.Add() as words) if _worded(names := words.every(s.Name)):
            joined = "-".join(name.base for name in names)
            return s.Group(s.Name(joined, font="roman", span=item.span))
        case s.ListLiteral(items=(s.Number() as number,)):
            return s.Group(number, "[", span=item.span)
    return item


def _worded(names: Sequence[s.Name]) -> bool:
    return len(names) > 1 and all(len(name.base) > 1 for name in names)


def _beside(item: s.Expression) -> tuple[s.Expression, ...]:
    """The letters of `α_{i j}`, `α_{t' t}` and `α_{tt'}`, which no comma divides; the t-1 of `h_{(t-1)}`."""
    match item:
        case s.Group(body=s.Add(terms=(s.Name(), s.Number() | s.Negative(body=s.Number())))):
            return (item.body,)
        case s.Group(body=s.Name()) if item.span.text.startswith(("⟨", "\\langle")):
            return (item.body,)
    if (
        isinstance(item, s.Name)
        and item.primes
        and replace(item, primes=0).bare
        and len(item.base) == 2
    ):
        first = s.Name(item.base[0], span=item.span)
        return first, s.Name(item.base[1], primes=item.primes, span=item.span)
    factors = item.factors if isinstance(item, s.Product) and not _multiplied(item) else ()
    letters = [letter for factor in factors for letter in _run(factor)]
    return tuple(letters) if letters and all(map(_run, factors)) else (item,)


def _run(factor: s.Expression) -> tuple[s.Expression, ...]:
    """The letters of a piece of `q_{hi\\mu}`, which TeX's commands divide: h and i, or μ. None of a word."""
    if not isinstance(factor, s.Name) or factor.sub or factor.sup or not factor.base.islower():
        return ()
    if len(factor.base) == 1:
        return (factor,)
    letters = factor.bare and not factor.font and factor.base.isalpha() and len(factor.base) < 4
    if not letters or factor.base in WORDS_BELOW or is_word(factor.base, called=False):
        return ()
    return tuple(s.Name(letter, span=factor.span) for letter in factor.base)


def _multiplied(item: s.Expression) -> bool:
    """Whether a sign stands between the factors: `x_{s · t}`."""
    return any(sign in item.span.text for sign in ("·", "*", "×", "\\cdot", "\\times"))


def font_of(token: Token) -> str:
    """What the letters of a name are set in; the words of `\\text` are roman."""
    return token.font or ("roman" if token.kind == "text" else "")


def stretch(name: s.Name) -> s.Comparison | None:
    """The `<t` of `w_{<t}`, the `1:t` of `w_{1:t}`: the name stands for many of w at once."""
    last = name.sub[-1] if name.sub else None
    if not isinstance(last, s.Comparison):
        return None
    return last if last.operators == (":",) or isinstance(last.operands[0], s.Dots) else None


def spread(item: s.Expression) -> tuple[s.Expression, ...]:
    """What a name stands for, one by one: `w_{<t}` → `…, w_{t-1}`, `w_{1:t}` → `w_1, …, w_t`."""
    if not isinstance(item, s.Name) or (found := stretch(item)) is None:
        return (item,)
    first, last = found.operands
    if found.operators == ("<",):
        last = s.Add((last, s.Negative(s.Number("1"))), span=last.span)
    ends = [replace(item, sub=(*item.sub[:-1], end)) for end in (first, last)]
    dots = s.Dots(span=item.span)
    return (dots, ends[1]) if isinstance(first, s.Dots) else (ends[0], dots, ends[1])
