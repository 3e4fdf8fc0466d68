# transformer_joined: the transformer with the vectors of word and position joined, not added
# TTIC 31230, 2023, "The Transformer: Self Attention"; layers as in transformer
input w[t] in V
parameter pos[t,j]
z[t,C] = e[w[t-1],J]; pos[t,J]
L_0[t,j] = W^E[j,C] z[t,C]
N_{ℓ+1}[t,J] = layernorm(L_ℓ[t,J])
Query_{ℓ+1}[k,t,i] = W^Q_{ℓ+1}[k,i,J] N_{ℓ+1}[t,J]
Key_{ℓ+1}[k,t,i] = W^K_{ℓ+1}[k,i,J] N_{ℓ+1}[t,J]
Value_{ℓ+1}[k,t,i] = W^V_{ℓ+1}[k,i,J] N_{ℓ+1}[t,J]
α_{ℓ+1}[k,t_1,t_2] = softmax_{t_2 ≤ t_1} 1/√I Query_{ℓ+1}[k,t_1,I] Key_{ℓ+1}[k,t_2,I]
h̃_{ℓ+1}[k,t,i] = α_{ℓ+1}[k,t,T] Value_{ℓ+1}[k,T,i]
ĥ_{ℓ+1}[t,(k,i)] = h̃_{ℓ+1}[k,t,i]
A_{ℓ+1}[t,j] = L_ℓ[t,j] + W^O_{ℓ+1}[j,C] ĥ_{ℓ+1}[t,C]
M_{ℓ+1}[t,J] = layernorm(A_{ℓ+1}[t,J])
F_{ℓ+1}[t,d] = ReLU(W^1_{ℓ+1}[d,J] M_{ℓ+1}[t,J] - B^1_{ℓ+1}[d])
L_{ℓ+1}[t,j] = A_{ℓ+1}[t,j] + W^2_{ℓ+1}[j,D] F_{ℓ+1}[t,D] - B^2_{ℓ+1}[j]
y[t,J] = layernorm(L_L[t,J])
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} e[w_t,J] y[t,J]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
