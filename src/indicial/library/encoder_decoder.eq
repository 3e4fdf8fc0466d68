# encoder_decoder: the transformer for translation, post-norm
# Vaswani et al. 2017, §3 and (dropout) §5.4, arXiv:1706.03762; learned positions
input x[s] in U
input w[t] in V
parameter pos_{in}[s,j], pos_{out}[t,j]
constant p = 0.1
E_0[s,j] = dropout(e_{in}[x[s],j] + pos_{in}[s,j], p)
α^E_{ℓ+1}[k,s,s'] = softmax_{s'} (W^{Q,E}_{ℓ+1}[k,I,J] E_ℓ[s,J]) (W^{K,E}_{ℓ+1}[k,I,J] E_ℓ[s',J]) / √I
h^E_{ℓ+1}[s,(k,i)] = α^E_{ℓ+1}[k,s,S] (W^{V,E}_{ℓ+1}[k,i,J] E_ℓ[S,J])
A^E_{ℓ+1}[s,J] = layernorm(E_ℓ[s,J] + dropout(W^{O,E}_{ℓ+1}[J,C] h^E_{ℓ+1}[s,C], p))
F^E_{ℓ+1}[s,d] = ReLU(W^{1,E}_{ℓ+1}[d,J] A^E_{ℓ+1}[s,J] - B^{1,E}_{ℓ+1}[d])
E_{ℓ+1}[s,J] = layernorm(A^E_{ℓ+1}[s,J] + dropout(W^{2,E}_{ℓ+1}[J,D] F^E_{ℓ+1}[s,D] - B^{2,E}_{ℓ+1}[J], p))
Z_0[t,j] = dropout(e_{out}[w[t-1],j] + pos_{out}[t,j], p)
α^Z_{ℓ+1}[k,t,t'] = softmax_{t' ≤ t} (W^{Q,Z}_{ℓ+1}[k,I,J] Z_ℓ[t,J]) (W^{K,Z}_{ℓ+1}[k,I,J] Z_ℓ[t',J]) / √I
h^Z_{ℓ+1}[t,(k,i)] = α^Z_{ℓ+1}[k,t,T] (W^{V,Z}_{ℓ+1}[k,i,J] Z_ℓ[T,J])
A^Z_{ℓ+1}[t,J] = layernorm(Z_ℓ[t,J] + dropout(W^{O,Z}_{ℓ+1}[J,C] h^Z_{ℓ+1}[t,C], p))
α^X_{ℓ+1}[k,t,s] = softmax_s (W^{Q,X}_{ℓ+1}[k,I,J] A^Z_{ℓ+1}[t,J]) (W^{K,X}_{ℓ+1}[k,I,J] E_L[s,J]) / √I
h^X_{ℓ+1}[t,(k,i)] = α^X_{ℓ+1}[k,t,S] (W^{V,X}_{ℓ+1}[k,i,J] E_L[S,J])
A^X_{ℓ+1}[t,J] = layernorm(A^Z_{ℓ+1}[t,J] + dropout(W^{O,X}_{ℓ+1}[J,C] h^X_{ℓ+1}[t,C], p))
F^Z_{ℓ+1}[t,d] = ReLU(W^{1,Z}_{ℓ+1}[d,J] A^X_{ℓ+1}[t,J] - B^{1,Z}_{ℓ+1}[d])
Z_{ℓ+1}[t,J] = layernorm(A^X_{ℓ+1}[t,J] + dropout(W^{2,Z}_{ℓ+1}[J,D] F^Z_{ℓ+1}[t,D] - B^{2,Z}_{ℓ+1}[J], p))
P(w[t] | x, w[0], …, w[t-1]) = softmax_{w_t} e_{out}[w_t,J] Z_L[t,J]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
