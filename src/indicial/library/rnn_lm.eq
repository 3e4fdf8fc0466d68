# rnn_lm: an RNN language model, its cell the UGRNN, its word vectors used twice
# Mikolov et al. 2010, Interspeech; as in TTIC 31230, 2023, "Recurrent Neural Network Language Modeling"
input w[t] in V
h[-1,j] = h^{start}[j]
R[t,j] = tanh(W^{h,R}[j,I] h[t-1,I] + W^{e,R}[j,I] e[w[t],I] - B^R[j])
G[t,j] = σ(W^{h,G}[j,I] h[t-1,I] + W^{e,G}[j,I] e[w[t],I] - B^G[j])
h[t,j] = G[t,j] h[t-1,j] + (1 - G[t,j]) R[t,j]
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} e[w_t,I] h[t-1,I]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
