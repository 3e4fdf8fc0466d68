# gpt2: GPT-2 as published: learned positions, pre-norm, GELU, biases, tied word vectors
# Radford et al. 2019, §2.3; GELU and dropout as in Radford et al. 2018, §4.1
input w[t] in V
parameter pos[t,j]
constant p = 0.1
constant π = 3.141592653589793
L_0[t,j] = dropout(e[w[t],j] + pos[t,j], p)
N_{ℓ+1}[t,J] = g^N_{ℓ+1}[J] layernorm(L_ℓ[t,J]) + b^N_{ℓ+1}[J]
Query_{ℓ+1}[k,t,i] = W^Q_{ℓ+1}[k,i,J] N_{ℓ+1}[t,J] + b^Q_{ℓ+1}[k,i]
Key_{ℓ+1}[k,t,i] = W^K_{ℓ+1}[k,i,J] N_{ℓ+1}[t,J] + b^K_{ℓ+1}[k,i]
Value_{ℓ+1}[k,t,i] = W^V_{ℓ+1}[k,i,J] N_{ℓ+1}[t,J] + b^V_{ℓ+1}[k,i]
α_{ℓ+1}[k,t_1,t_2] = softmax_{t_2 ≤ t_1} 1/√I Query_{ℓ+1}[k,t_1,I] Key_{ℓ+1}[k,t_2,I]
h̃_{ℓ+1}[k,t,i] = dropout(α_{ℓ+1}[k,t,T], p) Value_{ℓ+1}[k,T,i]
ĥ_{ℓ+1}[t,(k,i)] = h̃_{ℓ+1}[k,t,i]
A_{ℓ+1}[t,j] = L_ℓ[t,j] + dropout(W^O_{ℓ+1}[j,C] ĥ_{ℓ+1}[t,C] + b^O_{ℓ+1}[j], p)
M_{ℓ+1}[t,J] = g^M_{ℓ+1}[J] layernorm(A_{ℓ+1}[t,J]) + b^M_{ℓ+1}[J]
U_{ℓ+1}[t,d] = W^1_{ℓ+1}[d,J] M_{ℓ+1}[t,J] + b^1_{ℓ+1}[d]
F_{ℓ+1}[t,d] = 1/2 U_{ℓ+1}[t,d] (1 + tanh(√(2/π) (U_{ℓ+1}[t,d] + 0.044715 U_{ℓ+1}[t,d]^3)))
L_{ℓ+1}[t,j] = A_{ℓ+1}[t,j] + dropout(W^2_{ℓ+1}[j,D] F_{ℓ+1}[t,D] + b^2_{ℓ+1}[j], p)
y[t,J] = g^y[J] layernorm(L_L[t,J]) + b^y[J]
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} e[w_t,J] y[t-1,J]
loss = 1/(T-1) Σ_{t ≥ 1} -ln P(w_t | …)
w[t] ~ P(w_t | …)
