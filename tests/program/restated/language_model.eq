input w[t] in V
h[t,j] = σ(W^{h,h}[j,I] h[t-1,I] + W^{x,h}[j,K] e[w[t],K] - B[j])
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} e[w_t,K] W^o[K,J] h[t-1,J]
loss = Σ_t -ln P(w_t | …)
