# transformer_rotary: the transformer with queries and keys turned by angles that grow with the position
# Su et al. 2021, §3.2.2, arXiv:2104.09864; layers as in transformer
input w[t] in V
constant b = 10000
L_0[t,j] = e[w[t-1],j]
N_{ℓ+1}[t,J] = layernorm(L_ℓ[t,J])
Query_{ℓ+1}[k,t,i] = exp(1i t/b^{i/I}) (U^Q_{ℓ+1}[k,i,J] + 1i V^Q_{ℓ+1}[k,i,J]) N_{ℓ+1}[t,J]
Key_{ℓ+1}[k,t,i] = exp(1i t/b^{i/I}) (U^K_{ℓ+1}[k,i,J] + 1i V^K_{ℓ+1}[k,i,J]) N_{ℓ+1}[t,J]
Value_{ℓ+1}[k,t,i] = W^V_{ℓ+1}[k,i,J] N_{ℓ+1}[t,J]
α_{ℓ+1}[k,t_1,t_2] = softmax_{t_2 ≤ t_1} 1/√(2 I) Re(Query_{ℓ+1}[k,t_1,I] conj(Key_{ℓ+1}[k,t_2,I]))
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
