# language_model_stack: a language model of any stack of cells, from the states h_L[t,j] of its top
# Pascanu et al. 2014, arXiv:1312.6026; word vectors used twice: Press and Wolf 2017, arXiv:1608.05859
input w[t] in V
input h[ℓ,t,j]
range ℓ = 0..L
x[t,k] = e[w[t-1],k]
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} e[w_t,J] h[L,t,J]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
