# language_model: a language model of any cell that reads x[t,k] and gives states h[t,j]
# Mikolov et al. 2010, Interspeech; word vectors used twice: Press and Wolf 2017, arXiv:1608.05859
input w[t] in V
input h[t,j]
x[t,k] = e[w[t-1],k]
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} e[w_t,J] h[t,J]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
