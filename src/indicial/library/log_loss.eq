# log_loss: the log loss of a text, summed over its words
# TTIC 31230, 2020 problems, "RNN parallel run time"
input w[t] in V
input h[t,i]
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} e[w_t,I] h[t-1,I]
loss = Σ_t -ln P(w_t | …)
