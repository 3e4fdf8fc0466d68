# answer: which of many pages a question is about; and of a page, what is asked and the answer, copied or said
# vectors: Karpukhin et al. 2020, arXiv:2004.04906; copying: See et al. 2017, §2.2, arXiv:1704.04368
input q[u], d[n,s], x[r], w[t] in V, n in N
parameter a[v] = 0, pos[t,j], e[v,j]
f[m] = Σ_u exp(9 a[q[u]]) c[q[u],m] (1 + b[q[u-1],m])
g[n,m] = Σ_s exp(9 a[d[n,s]]) c[d[n,s],m] (1 + b[d[n,s-1],m])
P_{find}(n | q) = softmax_n 30 f[M] g[n,M] / (‖f[M]‖ ‖g[n,M]‖)
keep[r] = dropout(1, 0.15)
E[r,j] = keep[r] dropout(e[x[r],j], 0.2)
F[r,j] = E[r,j] + ReLU(Σ_{o=0}^{6} W^1[o,j,J] E[r+o-3,J] - B^1[j])
G[r,J] = layernorm(F[r,J])
H[r,j] = F[r,j] + ReLU(Σ_{o=0}^{6} W^2[o,j,J] G[r+o-3,J] - B^2[j])
X[r,J] = layernorm(H[r,J])
Z[t,j] = e[w[t-1],j] + U[j,J] e[w[t-2],J] + pos[t,j]
D[t,J] = layernorm(Z[t,J])
β[k,t,t'] = softmax_{t' ≤ t} (W^Q[k,I,J] D[t,J]) (W^K[k,I,J] D[t',J]) / √I
A[t,j] = Z[t,j] + W^O[j,K,I] β[K,t,T] (W^V[K,I,J] D[T,J])
Y[t,J] = layernorm(A[t,J])
α[t,r] = softmax_r X[r,J] (W^C[J,J'] Y[t,J']) + Σ_{o=1}^{3} (v^C[o,J] Y[t,J]) 1[x[r-o] = w[t-o]]
h[t,j] = Σ_r α[t,r] X[r,j]
y[t,j] = Y[t,j] + ReLU(W^y[j,J] Y[t,J] + W^h[j,J] h[t,J] - B^y[j])
γ[t] = σ(v^γ[J] y[t,J] - B^γ)
κ[t,v] = Σ_r α[t,r] 1[x[r] = v]
P(w[t] | x, w[0], …, w[t-1]) = γ[t] κ[t,w_t] + (1 - γ[t]) softmax_{w_t} e[w_t,J] y[t,J]
ℒ_{read} = 1/T Σ_t -ln P(w_t | …)
loss = -ln P_{find}(n | q) + ℒ_{read}
w[t] ~ P(w_t | …)
