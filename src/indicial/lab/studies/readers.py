"""The equations of the study `which_model`: three kinds of transformer, each for four tasks.

    equations("classify", "encoder")      P(y | x), every word sees every other, the mean of all is read
    equations("classify", "decoder")      each word sees those before it, the last is read
    equations("translate", "decoder")     source and target are one text
    equations("retrieve", "both")         None: what it would read of a page depends on the question

An encoder becomes a decoder by one condition below a softmax. All are pre-norm, with learned positions, as
`encoder_decoder_prenorm` of the library is, which is the third kind.
"""

from __future__ import annotations

from indicial.library import path

ENCODER, DECODER, BOTH = KINDS = ("encoder", "decoder", "both")
CLASSIFY, RETRIEVE, TRANSLATE, SUMMARISE = TASKS = (
    "classify", "retrieve", "translate", "summarise",
)  # fmt: skip

READS = """\
input x[s] in U
parameter pos_{in}[s,j]
E_0[s,j] = e_{in}[x[s],j] + pos_{in}[s,j]
N^E_ℓ[s,J] = layernorm(E_ℓ[s,J])
α^E_{ℓ+1}[k,s,s'] = softmax_{s'} (W^{Q,E}_{ℓ+1}[k,I,J] N^E_ℓ[s,J]) (W^{K,E}_{ℓ+1}[k,I,J] N^E_ℓ[s',J]) / √I
A^E_{ℓ+1}[s,j] = E_ℓ[s,j] + W^{O,E}_{ℓ+1}[j,K,I] α^E_{ℓ+1}[K,s,S] (W^{V,E}_{ℓ+1}[K,I,J] N^E_ℓ[S,J])
M^E_{ℓ+1}[s,J] = layernorm(A^E_{ℓ+1}[s,J])
F^E_{ℓ+1}[s,d] = ReLU(W^{1,E}_{ℓ+1}[d,J] M^E_{ℓ+1}[s,J] - B^{1,E}_{ℓ+1}[d])
E_{ℓ+1}[s,j] = A^E_{ℓ+1}[s,j] + W^{2,E}_{ℓ+1}[j,D] F^E_{ℓ+1}[s,D] - B^{2,E}_{ℓ+1}[j]
y^E[s,J] = layernorm(E_L[s,J])
"""
PAGES = """\
input page[n,r] in V
parameter pos_{page}[r,j]
G_0[n,r,j] = e_{page}[page[n,r],j] + pos_{page}[r,j]
N^G_ℓ[n,r,J] = layernorm(G_ℓ[n,r,J])
α^G_{ℓ+1}[n,k,r,r'] = softmax_{r'} (W^{Q,G}_{ℓ+1}[k,I,J] N^G_ℓ[n,r,J]) (W^{K,G}_{ℓ+1}[k,I,J] N^G_ℓ[n,r',J]) / √I
A^G_{ℓ+1}[n,r,j] = G_ℓ[n,r,j] + W^{O,G}_{ℓ+1}[j,K,I] α^G_{ℓ+1}[n,K,r,R] (W^{V,G}_{ℓ+1}[K,I,J] N^G_ℓ[n,R,J])
M^G_{ℓ+1}[n,r,J] = layernorm(A^G_{ℓ+1}[n,r,J])
F^G_{ℓ+1}[n,r,d] = ReLU(W^{1,G}_{ℓ+1}[d,J] M^G_{ℓ+1}[n,r,J] - B^{1,G}_{ℓ+1}[d])
G_{ℓ+1}[n,r,j] = A^G_{ℓ+1}[n,r,j] + W^{2,G}_{ℓ+1}[j,D] F^G_{ℓ+1}[n,r,D] - B^{2,G}_{ℓ+1}[j]
y^G[n,r,J] = layernorm(G_L[n,r,J])
"""
LABEL = """\
input y in C
P(y | x) = softmax_y U^y[y,J] g[J]
loss = -ln P(y | x)
"""
CHOICE = """\
input n in N
P(n | x) = softmax_n g[J] q[n,J]
loss = -ln P(n | x)
"""
AT_ONCE = """\
input w[t] in V
parameter pos_{out}[t,j]
κ[t,s] = softmax_s pos_{out}[t,J] y^E[s,J]
o[t,j] = pos_{out}[t,j] + κ[t,S] y^E[S,j]
P(w_t | x) = softmax_{w_t} e_{out}[w_t,J] o[t,J]
loss = 1/T Σ_t -ln P(w_t | x)
w[t] ~ P(w_t | x)
"""
"""An encoder that writes: all words at once, each from its place alone."""
ONE_TEXT = """\
input x[s] in V
input w[t] in V
parameter pos_{in}[s,j], pos_{out}[t,j]
E_0[s,j] = e[x[s],j] + pos_{in}[s,j]
Z_0[t,j] = e[w[t-1],j] + pos_{out}[t,j]
N^E_ℓ[s,J] = layernorm(E_ℓ[s,J])
N^Z_ℓ[t,J] = layernorm(Z_ℓ[t,J])
α_{ℓ+1}[k,s,s'] = softmax_{s' ≤ s} (W^Q_{ℓ+1}[k,I,J] N^E_ℓ[s,J]) (W^K_{ℓ+1}[k,I,J] N^E_ℓ[s',J]) / √I
A^E_{ℓ+1}[s,j] = E_ℓ[s,j] + W^O_{ℓ+1}[j,K,I] α_{ℓ+1}[K,s,S] (W^V_{ℓ+1}[K,I,J] N^E_ℓ[S,J])
a_{ℓ+1}[k,t,s] = exp((W^Q_{ℓ+1}[k,I,J] N^Z_ℓ[t,J]) (W^K_{ℓ+1}[k,I,J] N^E_ℓ[s,J]) / √I)
b_{ℓ+1}[k,t,t'] = exp((W^Q_{ℓ+1}[k,I,J] N^Z_ℓ[t,J]) (W^K_{ℓ+1}[k,I,J] N^Z_ℓ[t',J]) / √I)
V^E_{ℓ+1}[k,s,i] = W^V_{ℓ+1}[k,i,J] N^E_ℓ[s,J]
V^Z_{ℓ+1}[k,t,i] = W^V_{ℓ+1}[k,i,J] N^Z_ℓ[t,J]
r_{ℓ+1}[k,t,i] = Σ_s a_{ℓ+1}[k,t,s] V^E_{ℓ+1}[k,s,i] + Σ_{t' ≤ t} b_{ℓ+1}[k,t,t'] V^Z_{ℓ+1}[k,t',i]
β_{ℓ+1}[k,t] = Σ_s a_{ℓ+1}[k,t,s] + Σ_{t' ≤ t} b_{ℓ+1}[k,t,t']
v_{ℓ+1}[k,t,i] = r_{ℓ+1}[k,t,i] / β_{ℓ+1}[k,t]
A^Z_{ℓ+1}[t,j] = Z_ℓ[t,j] + W^O_{ℓ+1}[j,K,I] v_{ℓ+1}[K,t,I]
M^E_{ℓ+1}[s,J] = layernorm(A^E_{ℓ+1}[s,J])
M^Z_{ℓ+1}[t,J] = layernorm(A^Z_{ℓ+1}[t,J])
F^E_{ℓ+1}[s,d] = ReLU(W^1_{ℓ+1}[d,J] M^E_{ℓ+1}[s,J] - B^1_{ℓ+1}[d])
F^Z_{ℓ+1}[t,d] = ReLU(W^1_{ℓ+1}[d,J] M^Z_{ℓ+1}[t,J] - B^1_{ℓ+1}[d])
E_{ℓ+1}[s,j] = A^E_{ℓ+1}[s,j] + W^2_{ℓ+1}[j,D] F^E_{ℓ+1}[s,D] - B^2_{ℓ+1}[j]
Z_{ℓ+1}[t,j] = A^Z_{ℓ+1}[t,j] + W^2_{ℓ+1}[j,D] F^Z_{ℓ+1}[t,D] - B^2_{ℓ+1}[j]
y^Z[t,J] = layernorm(Z_L[t,J])
P(w_t | x, w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] y^Z[t,J]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
"""
"""A decoder that is given the source: a softmax over both texts, written as sums of exponentials."""


def equations(task: str, kind: str) -> str | None:
    """What is trained; None where that kind of model has no such task."""
    if kind == BOTH:
        # A label is written as a text of one word.
        return None if task == RETRIEVE else path("encoder_decoder_prenorm").read_text("utf-8")
    if task == CLASSIFY:
        return _seen(kind, READS) + _one(kind, "g[j]", "s", "y^E[s,j]") + LABEL
    if task == RETRIEVE:
        one = _seen(kind, READS) + _one(kind, "g[j]", "s", "y^E[s,j]")
        return one + _seen(kind, PAGES) + _one(kind, "q[n,j]", "r", "y^G[n,r,j]") + CHOICE
    return READS + AT_ONCE if kind == ENCODER else ONE_TEXT


def _seen(kind: str, text: str) -> str:
    """With the condition that makes a decoder of an encoder."""
    if kind == ENCODER:
        return text
    return text.replace("softmax_{s'}", "softmax_{s' ≤ s}").replace(
        "softmax_{r'}", "softmax_{r' ≤ r}"
    )


def _one(kind: str, name: str, index: str, each: str) -> str:
    """One vector of a text: the mean of an encoder's, a decoder's last, which alone has seen all."""
    if kind == ENCODER:
        return f"{name} = mean_{index} {each}\n"
    return f"{name} = {each.replace(f'{index},', f'{index.upper()}-1,')}\n"
