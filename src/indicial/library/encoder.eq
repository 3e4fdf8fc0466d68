# encoder: the transformer encoder, post-norm
# Vaswani et al. 2017, §3 and (dropout) §5.4, arXiv:1706.03762
input w[t] in V
constant p = 0.1
pos[t,j] = sin(t / 10000^{j/J}) for j = 2 floor(j/2)
pos[t,j] = cos(t / 10000^{(j-1)/J}) for j > 2 floor(j/2)
L_0[t,j] = dropout(√J e[w[t],j] + pos[t,j], p)
Query_{ℓ+1}[k,t,i] = W^Q_{ℓ+1}[k,i,J] L_ℓ[t,J]
Key_{ℓ+1}[k,t,i] = W^K_{ℓ+1}[k,i,J] L_ℓ[t,J]
Value_{ℓ+1}[k,t,i] = W^V_{ℓ+1}[k,i,J] L_ℓ[t,J]
α_{ℓ+1}[k,t_1,t_2] = softmax_{t_2} 1/√I Query_{ℓ+1}[k,t_1,I] Key_{ℓ+1}[k,t_2,I]
h̃_{ℓ+1}[k,t,i] = α_{ℓ+1}[k,t,T] Value_{ℓ+1}[k,T,i]
ĥ_{ℓ+1}[t,(k,i)] = h̃_{ℓ+1}[k,t,i]
A_{ℓ+1}[t,J] = layernorm(L_ℓ[t,J] + dropout(W^O_{ℓ+1}[J,C] ĥ_{ℓ+1}[t,C], p))
F_{ℓ+1}[t,d] = ReLU(W^1_{ℓ+1}[d,J] A_{ℓ+1}[t,J] - B^1_{ℓ+1}[d])
L_{ℓ+1}[t,J] = layernorm(A_{ℓ+1}[t,J] + dropout(W^2_{ℓ+1}[J,D] F_{ℓ+1}[t,D] - B^2_{ℓ+1}[J], p))
