# perceiver: a causal language model that reads its words through few vectors, a new one after every R words
# Jaegle et al. 2021, arXiv:2103.03206; causal: Hawthorne et al. 2022, arXiv:2202.07765
input w[t] in V
parameter pos[t,j], z[m,j]
x[t,j] = e[w[t-1],j] + pos[t,j]
N[t,J] = layernorm(x[t,J])
δ[k,t,m] = softmax_{t ≤ R m} 1/√I (W^Q[k,I,J] z[m,J]) (W^K[k,I,J] N[t,J])
Z[m,j] = z[m,j] + W^O[j,K,I] δ[K,T,m] (W^V[K,I,J] N[T,J])
L[m,j] = Z[m,j] + W^2[j,D] ReLU(W^1[D,J] Z[m,J])
υ[k,t,m] = softmax_{m ≤ t/R} 1/√I (U^Q[k,I,J] N[t,J]) (U^K[k,I,J] L[m,J])
A[t,j] = x[t,j] + U^O[j,K,I] υ[K,t,M] (U^V[K,I,J] L[M,J])
y[t,J] = layernorm(A[t,J])
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} e[w_t,J] y[t,J]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
