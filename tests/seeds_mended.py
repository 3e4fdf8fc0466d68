r"""What to write in five documents so that they are right, by document and line: a formula, and what is meant.

`python tests/seeds_mended.py` prints what is still said of the mended documents. They lie beside the
project in shared/seeds; where they are not there, there is nothing to mend.
"""

from __future__ import annotations

from pathlib import Path

MENDED: dict[tuple[str, int], list[tuple[str, str]]] = {
    ("000", 21): [("H(k,t_1,T_2)", r"H(\ell,k,t_1,T_2)")],
    ("000", 47): [("w[w, I]", "e[w, I]")],
    ("000", 69): [("(3)", "")],
    ("000", 75): [("(2)", "")],
    ("000", 80): [("w^{QK}", "W^{QK}")],
    ("000", 84): [("P(w_{t+1}|", "P(w_{t+2}|")],
    ("000", 104): [
        (r"(t_{1},J_{2})", r"(t_{2},J_{2})"),
        (r"(t_{1},j_{2})", r"(t_{2},j_{2})"),
        (r"\right) \left( W^{K}[k,i,j_{2}] \right) \right)", r"W^{K}[k,i,j_{2}] \right)"),
        ("W^{k}", "W^{K}"),
    ],
    ("001", 56): [(r"\approx 1,", r"\approx \frac{1}{2},")],
    ("001", 81): [(r"\mu_a^{\top})", r"\mu_a^{\top}))")],
    ("001", 83): [
        (r"k_a \sim \mathcal{N}(1", r"\epsilon \sim \mathcal{N}(1"),
        (r"\mu_a^2", r"\mu_a \mu_a^{\top}"),
    ],
    ("001", 96): [(r"\alpha_i = ", "")],
    ("001", 98): [(r"\alpha_b = ", "")],
    ("001", 100): [(r"\alpha_a = ", ""), (r"\epsilon M", r"\epsilon_a M")],
    ("001", 139): [("q, i", "q_1, i"), (r"\notin \{a, b\}", r"\neq a")],
    ("001", 140): [("q, i", "q_2, i"), (r"\notin \{a, b\}", r"\neq b")],
    ("001", 146): [(r"k_a \sim", r"\epsilon \sim")],
    ("001", 158): [(r"c_2 = \alpha_{22}", r"c_2 \approx \alpha_{22}")],
    ("001", 174): [("u_b u_c", "u_b - u_c")],
    ("001", 186): [("u_b u_b - u_c u_c", r"u_b u_b^{\top} - u_c u_c^{\top}")],
    ("001", 217): [(r"(x_2^\top Qx_2)", r"(x_3^\top Qx_2)")],
    ("001", 229): [
        (r"(u_d^\top + u_b^\top) \gg", r"(u_d + u_b) \gg"),
        (r"(u_d^\top + u_b^\top)$$", "(u_d + u_b)$$"),
    ],
    ("002", 9): [("w[w, I]", "e[w, I]")],
    ("002", 15): [("_{w_{t+1}}", "_{w_t}")],
    ("002", 44): [("x[b, t, j]", "h[b, t-1, j]")],
    ("002", 48): [("h'[b, t, K]", "x[b, t, K]"), (r"\tilde{h}[b, t-1, I]", "h'[b, t, I]")],
    ("002", 100): [("j, j'", "j', j")],
    ("002", 112): [("i, i'", "i', i")],
    ("002", 120): [("w[t]", "w[b, t]")],
    ("002", 126): [(r"L_\ell[2t", r"L_\ell[b, 2t")],
    ("003", 42): [("z = x_i", "z_i = x_i"), ("z = [", "z_i = [")],
    ("003", 45): [(r"\pi_{i,j}", r"\pi_{i-j}")],
    ("004", 21): [(r"P_{\text{op}}", r"\text{Pop}")],
    ("004", 152): [("G_t[t, j]", "G[t, j]")],
    ("004", 222): [(r"P_{\text{op}}", r"\text{Pop}")],
    ("004", 338): [
        (r"\alpha[k", r"\alpha_{\ell+1}[k"),
        (r"\text{Value}[k", r"\text{Value}_{\ell+1}[k"),
    ],
}


def mended(path: Path) -> str:
    """The text of a document with all of its slips mended."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for (document, number), changes in MENDED.items():
        if path.name.startswith(document):
            for old, new in changes:
                assert old in lines[number - 1], (document, number, old)
                lines[number - 1] = lines[number - 1].replace(old, new)
    return "\n".join(lines)


def complaints(path: Path, folder: Path) -> list[str]:
    """The errors and warnings about a mended document, which is written into a folder."""
    from indicial.library.loading import load_document

    copy = folder / path.name
    copy.write_text(mended(path), encoding="utf-8")
    return [
        f"{path.name[:3]}:{message.span.line} {message.code}: {message.text}"
        for program in load_document(copy)
        for message in program.messages
        if message.severity != "note"
    ]


if __name__ == "__main__":
    import tempfile

    import seeds_table

    with tempfile.TemporaryDirectory() as made:
        for document in seeds_table.documents():
            print(*complaints(document, Path(made)), sep="\n")
