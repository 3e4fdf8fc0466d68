# trigram: a neural trigram model, each word from the two before it
# Bengio et al. 2003, §2, A Neural Probabilistic Language Model, JMLR 3
input w[t] in V
h[t,j] = tanh(W^1[j,I] e[w[t-1],I] + W^2[j,I] e[w[t-2],I] - B^h[j])
P(w[t] | w[t-2], w[t-1]) = softmax_{w_t} U[w_t,J] h[t,J] - B^U[w_t]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
