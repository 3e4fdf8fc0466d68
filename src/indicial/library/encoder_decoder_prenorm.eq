# encoder_decoder_prenorm: the transformer for translation, layer norm before each part
# Xiong et al. 2020, arXiv:2002.04745; heads joined inside the output matrix; learned positions
input x[s] in U
input w[t] in V
parameter pos_{in}[s,j], pos_{out}[t,j]
E_0[s,j] = e_{in}[x[s],j] + pos_{in}[s,j]
N^E_ℓ[s,J] = layernorm(E_ℓ[s,J])
α^E_{ℓ+1}[k,s,s'] = softmax_{s'} (W^{Q,E}_{ℓ+1}[k,I,J] N^E_ℓ[s,J]) (W^{K,E}_{ℓ+1}[k,I,J] N^E_ℓ[s',J]) / √I
A^E_{ℓ+1}[s,j] = E_ℓ[s,j] + W^{O,E}_{ℓ+1}[j,K,I] α^E_{ℓ+1}[K,s,S] (W^{V,E}_{ℓ+1}[K,I,J] N^E_ℓ[S,J])
M^E_{ℓ+1}[s,J] = layernorm(A^E_{ℓ+1}[s,J])
F^E_{ℓ+1}[s,d] = ReLU(W^{1,E}_{ℓ+1}[d,J] M^E_{ℓ+1}[s,J] - B^{1,E}_{ℓ+1}[d])
E_{ℓ+1}[s,j] = A^E_{ℓ+1}[s,j] + W^{2,E}_{ℓ+1}[j,D] F^E_{ℓ+1}[s,D] - B^{2,E}_{ℓ+1}[j]
y^E[s,J] = layernorm(E_L[s,J])
Z_0[t,j] = e_{out}[w[t-1],j] + pos_{out}[t,j]
N^Z_ℓ[t,J] = layernorm(Z_ℓ[t,J])
α^Z_{ℓ+1}[k,t,t'] = softmax_{t' ≤ t} (W^{Q,Z}_{ℓ+1}[k,I,J] N^Z_ℓ[t,J]) (W^{K,Z}_{ℓ+1}[k,I,J] N^Z_ℓ[t',J]) / √I
A^Z_{ℓ+1}[t,j] = Z_ℓ[t,j] + W^{O,Z}_{ℓ+1}[j,K,I] α^Z_{ℓ+1}[K,t,T] (W^{V,Z}_{ℓ+1}[K,I,J] N^Z_ℓ[T,J])
N^X_{ℓ+1}[t,J] = layernorm(A^Z_{ℓ+1}[t,J])
α^X_{ℓ+1}[k,t,s] = softmax_s (W^{Q,X}_{ℓ+1}[k,I,J] N^X_{ℓ+1}[t,J]) (W^{K,X}_{ℓ+1}[k,I,J] y^E[s,J]) / √I
A^X_{ℓ+1}[t,j] = A^Z_{ℓ+1}[t,j] + W^{O,X}_{ℓ+1}[j,K,I] α^X_{ℓ+1}[K,t,S] (W^{V,X}_{ℓ+1}[K,I,J] y^E[S,J])
M^Z_{ℓ+1}[t,J] = layernorm(A^X_{ℓ+1}[t,J])
F^Z_{ℓ+1}[t,d] = ReLU(W^{1,Z}_{ℓ+1}[d,J] M^Z_{ℓ+1}[t,J] - B^{1,Z}_{ℓ+1}[d])
Z_{ℓ+1}[t,j] = A^X_{ℓ+1}[t,j] + W^{2,Z}_{ℓ+1}[j,D] F^Z_{ℓ+1}[t,D] - B^{2,Z}_{ℓ+1}[j]
y^Z[t,J] = layernorm(Z_L[t,J])
P(w[t] | x, w[0], …, w[t-1]) = softmax_{w_t} e_{out}[w_t,J] y^Z[t,J]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
