# experts: a causal transformer whose feed-forward layers are experts, two of which each token chooses
# Jiang et al. 2024, §2.1, arXiv:2401.04088; experts that are chosen: Shazeer et al. 2017, arXiv:1701.06538
input w[t] in V
parameter pos[t,j]
size E = 8
L_0[t,j] = v[w[t-1],j] + pos[t,j]
N_{ℓ+1}[t,J] = rmsnorm(L_ℓ[t,J])
Query_{ℓ+1}[k,t,i] = W^Q_{ℓ+1}[k,i,J] N_{ℓ+1}[t,J]
Key_{ℓ+1}[k,t,i] = W^K_{ℓ+1}[k,i,J] N_{ℓ+1}[t,J]
Value_{ℓ+1}[k,t,i] = W^V_{ℓ+1}[k,i,J] N_{ℓ+1}[t,J]
α_{ℓ+1}[k,t_1,t_2] = softmax_{t_2 ≤ t_1} 1/√I Query_{ℓ+1}[k,t_1,I] Key_{ℓ+1}[k,t_2,I]
h̃_{ℓ+1}[k,t,i] = α_{ℓ+1}[k,t,T] Value_{ℓ+1}[k,T,i]
ĥ_{ℓ+1}[t,(k,i)] = h̃_{ℓ+1}[k,t,i]
A_{ℓ+1}[t,j] = L_ℓ[t,j] + W^O_{ℓ+1}[j,C] ĥ_{ℓ+1}[t,C]
M_{ℓ+1}[t,J] = rmsnorm(A_{ℓ+1}[t,J])
g_{ℓ+1}[t,e] = W^G_{ℓ+1}[e,J] M_{ℓ+1}[t,J]
p_{ℓ+1}[t,e] = softmax_{top_k(g_{ℓ+1}[t,e], 2) = 1} g_{ℓ+1}[t,e]
F_{ℓ+1}[t,e,d] = ReLU(W^1_{ℓ+1}[e,d,J] M_{ℓ+1}[t,J])
L_{ℓ+1}[t,j] = A_{ℓ+1}[t,j] + p_{ℓ+1}[t,E] W^2_{ℓ+1}[E,j,D] F_{ℓ+1}[t,E,D]
y[t,J] = rmsnorm(L_L[t,J])
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} v[w_t,J] y[t,J]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
