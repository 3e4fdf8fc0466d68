"""One table of signs: Unicode ↔ LaTeX ↔ ASCII. The tree always holds the Unicode spelling.

>>> LETTER_COMMANDS["\\\\alpha"], ASCII_NAMES["alpha"], RELATIONS["<="]
('α', 'α', '≤')
"""

from __future__ import annotations

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ",
    "eta": "η", "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν",
    "xi": "ξ", "omicron": "ο", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ",
    "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
    "Alpha": "Α", "Beta": "Β", "Gamma": "Γ", "Delta": "Δ", "Epsilon": "Ε", "Zeta": "Ζ",
    "Eta": "Η", "Theta": "Θ", "Iota": "Ι", "Kappa": "Κ", "Lambda": "Λ", "Mu": "Μ", "Nu": "Ν",
    "Xi": "Ξ", "Omicron": "Ο", "Pi": "Π", "Rho": "Ρ", "Sigma": "Σ", "Tau": "Τ", "Upsilon": "Υ",
    "Phi": "Φ", "Chi": "Χ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
"""English name → letter; LaTeX puts a backslash before it."""

_OTHER_LETTERS = {
    "ell": "ℓ", "partial": "∂", "nabla": "∇", "hbar": "ℏ", "imath": "ı", "jmath": "ȷ",
    "emptyset": "∅", "varnothing": "∅",
}  # fmt: skip
_VARIANTS = {
    "varepsilon": "ε", "vartheta": "θ", "varpi": "π", "varrho": "ρ", "varsigma": "ς",
    "varphi": "φ", "varkappa": "κ",
}  # fmt: skip

LETTER_COMMANDS = {"\\" + name: sign for name, sign in (GREEK | _OTHER_LETTERS | _VARIANTS).items()}
"""LaTeX command → letter."""

SCRIPT_LETTERS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "𝒜ℬ𝒞𝒟ℰℱ𝒢ℋℐ𝒥𝒦ℒℳ𝒩𝒪𝒫𝒬ℛ𝒮𝒯𝒰𝒱𝒲𝒳𝒴𝒵", strict=True))
DOUBLE_LETTERS = {"R": "ℝ", "N": "ℕ", "Z": "ℤ", "Q": "ℚ", "C": "ℂ", "E": "𝔼"}
"""`\\mathbb` letters that are sets of numbers, and that of expectations; the rest are plain letters."""

LETTER_CHARACTERS = {"ϵ": "ε", "ϕ": "φ", "ϑ": "θ", "ϱ": "ρ", "µ": "μ", "ℙ": "P", "∆": "Δ",
                     "𝑙": "ℓ"}  # fmt: skip
"""Characters that look like another letter, and mean it."""

ASCII_NAMES = GREEK | {"ell": "ℓ", "nabla": "∇"}
"""Words of the plain surface that stand for a letter."""

_USUAL_WORDS = {
    "sigmoid": "σ", "logistic": "σ", "relu": "ReLU", "gelu": "GELU", "layernorm": "layernorm",
    "layer_norm": "layernorm", "rmsnorm": "rmsnorm", "softmax": "softmax", "tanh": "tanh",
    "softplus": "softplus", "dropout": "dropout", "onehot": "onehot", "one-hot": "onehot",
    "argmax": "argmax", "argmin": "argmin", "silu": "SiLU", "swish": "SiLU", "elu": "ELU",
    "swiglu": "swiglu", "rope": "rope", "logsigmoid": "logsigmoid", "logsoftmax": "logsoftmax",
    "topk": "topk", "sgn": "sign", "leakyrelu": "LeakyReLU", "leaky_relu": "LeakyReLU", "prelu": "PReLU",
    "lrelu": "LeakyReLU", "logsumexp": "logsumexp", "lse": "logsumexp",
}  # fmt: skip


def usual_word(word: str) -> str:
    """The one spelling of a function that people write in several: `Relu`, `RELU`, `SoftMax`.

    >>> usual_word("Sigmoid"), usual_word("LayerNorm"), usual_word("Key")
    ('σ', 'layernorm', 'Key')
    """
    return "layernorm" if word == "LN" else _USUAL_WORDS.get(word.lower(), word)


_COUNTS = frozenset({"TP", "FP", "TN", "FN"})
"""Right and wrong answers, as tables of them are written."""
_SHORT_WORDS = _COUNTS | frozenset(
    {"KL", "JS", "MI", "TV", "CE", "Tr", "tr", "Re", "Im", "sg", "ln", "MSE", "Var", "var", "Cov", "cov",
     "det", "exp", "log", "cos", "sin", "tan", "max", "min", "std", "dim", "deg", "mod", "Pop",
     "pos", "out", "sim", "emb", "seq", "enc", "dec", "key", "val", "len",
     "RSS", "TSS", "ESS", "SSE", "SST", "SSR", "MAE", "BCE", "CCE", "NLL", "RMSE", "MAPE", "ELBO", "PPL", "WER", "CER",
     "num", "avg", "err", "acc", "BN", "GN", "FC", "NN",
     "ref", "gen", "rel", "new", "old", "inp", "tgt", "src", "ctx", "att", "hid", "vec", "tok", "lr"}
)  # fmt: skip


def is_word(letters: str, called: bool) -> bool:
    """Whether letters typed in italics, side by side, are a word and not a product.

    >>> is_word("loss", False), is_word("KL", True), is_word("QKV", False), is_word("MLP", True)
    (True, True, False, True)
    """
    if letters in _SHORT_WORDS:
        return called or len(letters) > 2 or letters in _COUNTS or letters == "lr"
    if len(letters) > 3:
        return letters[1:].islower() or letters.lower() in _USUAL_WORDS or called
    return called and len(letters) == 3


LATEX_LETTERS = {
    sign: "\\" + name for name, sign in (_OTHER_LETTERS | GREEK).items() if sign != "ο"
} | {"∅": "\\emptyset", "ς": "\\varsigma"}
ASCII_LETTERS = {sign: name for name, sign in GREEK.items()} | {"ℓ": "ell", "∇": "nabla"}

NAME_COMMANDS = {
    f"\\{word}": word
    for word in ("tanh", "exp", "ln", "log", "cos", "sin", "tan", "max", "min", "argmax", "argmin", "softmax")
} | {"\\sum": "sum", "\\prod": "prod", "\\ReLU": "ReLU", "\\lg": "log", "\\Pr": "Pr"}  # fmt: skip
"""Commands that are a word."""

RELATIONS = {
    "=": "=", ":=": "=", "==": "=", "≡": "=", "≔": "=", "←": "=", "⟵": "=", "≜": "=",
    "≈": "≈", "~=": "≈", "≃": "≈", "≅": "≈",
    "~": "~", "∼": "~", "+=": "+=", "-=": "-=",
    "≠": "≠", "!=": "≠", "<": "<", ">": ">", "≤": "≤", "<=": "≤", "⩽": "≤", "≥": "≥", ">=": "≥",
    "⩾": "≥", "∈": "∈", "∉": "∉",
}  # fmt: skip
"""Every spelling of a relation → the one in the tree."""

RELATION_SIGNS = frozenset(RELATIONS.values())
EQUATION_SIGNS = frozenset({"=", "≈", "~", "+=", "-="})
"""The relations that make an equation; the others make a condition."""

SIGN_CHARACTERS = RELATIONS | {
    "−": "-", "–": "-", "⋅": "·", "∙": "·", "×": "·", "⊗": "⊗", "∘": "⊙", ".*": "⊙", "⊙": "⊙", "⊘": "⊘",
    "′": "'", "’": "'", "∣": "mid", "⏐": "mid", "||": "‖", "∥": "‖", "‖": "‖", "...": "…",
    "⋯": "…", "…": "…", "⋮": "…", "⟨": "⟨", "⟩": "⟩", "⌊": "⌊", "⌋": "⌋",
    "⌈": "⌈", "⌉": "⌉", "→": "→", "->": "→", "⇒": "⇒", "=>": "⇒",
    "⟹": "⇒", "⊺": "⊤", "⊤": "⊤", "∞": "∞", "√": "√", "∑": "sum", "∏": "prod", "∀": "∀",
}  # fmt: skip

SIGN_COMMANDS = {
    "\\le": "≤", "\\leq": "≤", "\\leqslant": "≤", "\\ge": "≥", "\\geq": "≥", "\\geqslant": "≥",
    "\\ne": "≠", "\\neq": "≠", "\\lt": "<", "\\gt": ">", "\\approx": "≈", "\\simeq": "≈",
    "\\cong": "≈", "\\equiv": "=", "\\coloneqq": "=", "\\triangleq": "=", "\\leftarrow": "=",
    "\\longleftarrow": "=", "\\gets": "=", "\\doteq": "=", "\\in": "∈", "\\notin": "∉", "\\sim": "~",
    "\\cdot": "·", "\\times": "·", "\\ast": "*", "\\odot": "⊙", "\\circ": "⊙", "\\circledcirc": "⊙", "\\otimes": "⊗",
    "\\bmod": "mod", "\\mod": "mod",
    "\\top": "⊤", "\\intercal": "⊤", "\\bullet": "•", "\\dagger": "†", "\\dots": "…", "\\ldots": "…", "\\cdots": "…",
    "\\dotsc": "…", "\\dotso": "…", "\\dotsb": "…", "\\vdots": "…", "\\ddots": "…", "\\infty": "∞", "\\mid": "mid",
    "\\vert": "|", "\\|": "‖", "\\Vert": "‖", "\\parallel": "‖", "\\lvert": "|(", "\\rvert": "|)", "\\lVert": "‖(",
    "\\rVert": "‖)", "\\langle": "⟨", "\\rangle": "⟩", "\\lfloor": "⌊", "\\rfloor": "⌋",
    "\\lceil": "⌈", "\\rceil": "⌉", "\\{": "\\{", "\\}": "\\}",
    "\\lbrace": "\\{", "\\rbrace": "\\}", "\\lbrack": "[", "\\rbrack": "]", "\\prime": "'",
    "\\star": "*", "\\forall": "∀", "\\colon": ":", "\\semicolon": ";", "\\slash": "/",
    "\\Rightarrow": "⇒", "\\implies": "⇒", "\\Longrightarrow": "⇒", "\\iff": "⇔",
    "\\Leftrightarrow": "⇔", "\\to": "→", "\\rightarrow": "→", "\\longrightarrow": "→",
    "\\mapsto": "↦", "\\gg": "≫", "\\ll": "≪", "\\ggg": "⋙", "\\lll": "⋘", "\\propto": "∝",
    "\\subset": "⊂", "\\subseteq": "⊆", "\\cup": "∪", "\\cap": "∩", "\\perp": "⟂", "\\pm": "±", "\\oslash": "⊘",
    "\\oplus": "⊕", "\\wedge": "∧", "\\vee": "∨", "\\therefore": "∴", "\\checkmark": "✓",
    "\\lim": "lim", "\\int": "∫", "\\setminus": "∖", "\\backslash": "∖",
    "\\iint": "∫", "\\oint": "∫", "\\mp": "±", "\\supset": "⊂", "\\supseteq": "⊆", "\\subsetneq": "⊂",
    "\\bigcup": "∪", "\\bigcap": "∩", "\\models": "⇒", "\\vdash": "⇒", "\\longmapsto": "↦",
    "\\hookrightarrow": "→", "\\rightsquigarrow": "→", "\\Leftarrow": "⇒", "\\leftrightarrow": "→",
    "\\bowtie": "⇔", "\\preceq": "≺", "\\succeq": "≻", "\\bot": "⟂", "\\because": "∴",
    "\\blacksquare": "✓", "\\square": "✓", "\\Box": "✓", "\\qed": "✓", "\\longleftrightarrow": "→",
    "\\exists": "∃", "\\land": "∧", "\\lor": "∨",
    "\\neg": "¬", "\\lnot": "¬", "\\succ": "≻", "\\prec": "≺", "\\uparrow": "↑", "\\downarrow": "↓",
}  # fmt: skip
"""LaTeX command → the sign that the parser sees."""
ANY_SIGN = SIGN_CHARACTERS | SIGN_COMMANDS

LOGIC_SIGNS = {"and": "∧", "or": "∨", "not": "¬"}
"""What may stand for these words in a condition."""

NO_EQUATION = {
    "⇒": "it reasons with ⇒", "⇔": "it reasons with ⇔", "→": "it uses an arrow",
    "↦": "it uses an arrow", "≫": "it compares orders of magnitude with ≫",
    "≪": "it compares orders of magnitude with ≪", "⋙": "it compares orders of magnitude with ⋙",
    "⋘": "it compares orders of magnitude with ⋘", "lim": "it is about a limit",
    "∝": "it states a proportion", "⊂": "it is about sets", "⊆": "it is about sets",
    "∪": "it is about sets", "∩": "it is about sets", "∖": "it is about sets",
    "⟂": "it states orthogonality", "±": "it uses ±", "∫": "it uses an integral",
    "∧": "it is logic", "∨": "it is logic", "¬": "it is logic",
    "∃": "it is logic", "∴": "it is a step of a proof", "✓": "it is a step of a proof",
    "≻": "it is logic", "≺": "it is logic", "⊕": "it uses ⊕", "†": "it uses a conjugate",
    "∥": "it compares two distributions", "↑": "it uses an arrow", "↓": "it uses an arrow",
}  # fmt: skip
"""Signs whose row is left out, with the reason that is given."""

LABEL_SIGNS = frozenset("→↑↓")
"""Of these, what tells names apart where it stands alone below or above them."""

LATEX_SIGNS = {
    "≤": "\\le", "≥": "\\ge", "≠": "\\neq", "≈": "\\approx", "~": "\\sim", "∈": "\\in",
    "∉": "\\notin",
}  # fmt: skip
"""The relations that LaTeX spells otherwise; `=` and `:` it does not."""
ASCII_SIGNS = {
    "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~=", "∈": "in", "∉": "notin",
}  # fmt: skip

MARKS = {
    "\u0303": "tilde", "\u0302": "hat", "\u0304": "bar", "\u0305": "bar", "\u20d7": "vec",
    "\u20d6": "cev", "\u0307": "dot", "\u0308": "ddot", "\u030c": "check", "\u0306": "breve",
    "\u0332": "underline",
}  # fmt: skip
"""Combining characters → the accent that they are."""

MARK_OF = {accent: mark for mark, accent in reversed(MARKS.items())}

ACCENT_COMMANDS = {
    "\\tilde": "tilde", "\\widetilde": "tilde", "\\hat": "hat", "\\widehat": "hat",
    "\\bar": "bar", "\\overline": "bar", "\\vec": "vec", "\\overrightarrow": "vec",
    "\\cev": "cev", "\\overleftarrow": "cev", "\\overleftrightarrow": "bar", "\\dot": "dot", "\\ddot": "ddot",
    "\\check": "check", "\\breve": "breve", "\\underline": "underline",
}  # fmt: skip

CONDITION_WORDS = frozenset({"if", "for", "when", "where"})
KEYS = CONDITION_WORDS | {"otherwise", "else", "and", "or", "is", "in", "notin", "within"}
"""Words of the language itself; as a name they stand in scripts only (`h_{in}`)."""

IN_ENGLISH = {
    **dict.fromkeys(("où", "donde", "wobei", "ahol", "dove", "onde", "gdzie", "где", "其中", "여기서"), "where"),
    **dict.fromkeys(("wenn", "falls", "si", "se", "jika", "jeśli", "pokud", "nếu", "если", "若", "如果", "当"), "if"),
    **dict.fromkeys(
        ("sinon", "autrement", "sonst", "andernfalls", "altrimenti", "senão", "otherwize", "lainnya",
         "en otro caso", "de lo contrario", "en caso contrario", "caso contrário", "em caso contrário",
         "dans les autres cas", "w przeciwnym razie", "в противном случае",
         "jinak", "inaczej", "иначе", "否则", "其他", "其它", "その他", "그외"), "otherwise"),
    **dict.fromkeys(("für", "pour"), "for"),
    **dict.fromkeys(("und", "et"), "and"),
}  # fmt: skip
"""What other languages say for these words, between formulas."""
