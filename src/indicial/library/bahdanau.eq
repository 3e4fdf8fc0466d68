# bahdanau: translation with additive attention over a bidirectional encoder
# Bahdanau, Cho and Bengio 2015, §3, arXiv:1409.0473
input x[t_{in}] in U
input w[t] in V
CELL = gru
h⃗[t_{in},J] = CELL(h⃗[t_{in}-1,J], e_{in}[x[t_{in}],I])
h⃖[t_{in},J] = CELL(h⃖[t_{in}+1,J], e_{in}[x[t_{in}],I])
h[t_{in},C] = h⃗[t_{in},J]; h⃖[t_{in},J]
s[-1,n] = tanh(W^{start}[n,J] h⃖[0,J])
α[t,t_{in}] = softmax_{t_{in}} v[M] tanh(W^s[M,N] s[t-1,N] + W^h[M,C] h[t_{in},C])
c[t,d] = α[t,T_{in}] h[T_{in},d]
z[t,F] = e_{out}[w[t-1],I]; c[t,D]
s[t,N] = CELL(s[t-1,N], z[t,F])
P(w[t] | x, w[0], …, w[t-1]) = softmax_{w_t} e_{out}[w_t,I] (U^s[I,N] s[t,N] + U^z[I,F] z[t,F])
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
