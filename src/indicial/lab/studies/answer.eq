# answer: which of many pages a question is about; and of a page, what is asked and the answer, copied or said
# vectors: Karpukhin et al. 2020, arXiv:2004.04906; copying: See et al. 2017, §2.2, arXiv:1704.04368
input q[u] in V
input d[n,s] in V
input n in N
input x[r] in V
input w[t] in V
parameter pos_{in}[r,j], pos_{out}[t,j]
parameter a[v] = 0
f[m] = Σ_u exp(9 a[q[u]]) c[q[u],m] (1 + b[q[u-1],m])
g[n,m] = Σ_s exp(9 a[d[n,s]]) c[d[n,s],m] (1 + b[d[n,s-1],m])
P_{find}(n | q) = softmax_n 30 f[M] g[n,M] / (‖f[M]‖ ‖g[n,M]‖)
E_0[r,j] = e[x[r],j] + pos_{in}[r,j]
N^E_ℓ[r,J] = layernorm(E_ℓ[r,J])
α^E_{ℓ+1}[k,r,r'] = softmax_{r'} (W^{Q,E}_{ℓ+1}[k,I,J] N^E_ℓ[r,J]) (W^{K,E}_{ℓ+1}[k,I,J] N^E_ℓ[r',J]) / √I
A^E_{ℓ+1}[r,j] = E_ℓ[r,j] + W^{O,E}_{ℓ+1}[j,K,I] α^E_{ℓ+1}[K,r,R] (W^{V,E}_{ℓ+1}[K,I,J] N^E_ℓ[R,J])
M^E_{ℓ+1}[r,J] = layernorm(A^E_{ℓ+1}[r,J])
F^E_{ℓ+1}[r,z] = ReLU(W^{1,E}_{ℓ+1}[z,J] M^E_{ℓ+1}[r,J] - B^{1,E}_{ℓ+1}[z])
E_{ℓ+1}[r,j] = A^E_{ℓ+1}[r,j] + W^{2,E}_{ℓ+1}[j,Z] F^E_{ℓ+1}[r,Z] - B^{2,E}_{ℓ+1}[j]
y^E[r,J] = layernorm(E_L[r,J])
Z_0[t,j] = e[w[t-1],j] + pos_{out}[t,j]
N^Z_ℓ[t,J] = layernorm(Z_ℓ[t,J])
α^Z_{ℓ+1}[k,t,t'] = softmax_{t' ≤ t} (W^{Q,Z}_{ℓ+1}[k,I,J] N^Z_ℓ[t,J]) (W^{K,Z}_{ℓ+1}[k,I,J] N^Z_ℓ[t',J]) / √I
A^Z_{ℓ+1}[t,j] = Z_ℓ[t,j] + W^{O,Z}_{ℓ+1}[j,K,I] α^Z_{ℓ+1}[K,t,T] (W^{V,Z}_{ℓ+1}[K,I,J] N^Z_ℓ[T,J])
N^X_{ℓ+1}[t,J] = layernorm(A^Z_{ℓ+1}[t,J])
α^X_{ℓ+1}[k,t,r] = softmax_r (W^{Q,X}_{ℓ+1}[k,I,J] N^X_{ℓ+1}[t,J]) (W^{K,X}_{ℓ+1}[k,I,J] y^E[r,J]) / √I
Z_{ℓ+1}[t,j] = A^Z_{ℓ+1}[t,j] + W^{O,X}_{ℓ+1}[j,K,I] α^X_{ℓ+1}[K,t,R] (W^{V,X}_{ℓ+1}[K,I,J] y^E[R,J])
y[t,J] = layernorm(Z_L[t,J])
α[t,r] = softmax_r y[t,J] (W^C[J,J'] y^E[r,J'])
γ[t] = σ(v[J] y[t,J])
κ[t,v] = Σ_r α[t,r] 1[x[r] = v]
P(w[t] | x, w[0], …, w[t-1]) = γ[t] κ[t,w_t] + (1 - γ[t]) softmax_{w_t} e[w_t,J] y[t,J]
ℒ_{read} = 1/T Σ_t -ln P(w_t | …)
loss = -ln P_{find}(n | q) + ℒ_{read}
w[t] ~ P(w_t | …)
