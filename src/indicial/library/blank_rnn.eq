# blank_rnn: a blank language model, each word from an RNN before it and an RNN behind it
# TTIC 31230, 2020 problems, "Blank Language modeling"
input w[t] in V
CELL = ugrnn
h⃗[t,J] = CELL(h⃗[t-1,J], e[w[t],I])
h⃖[t,J] = CELL(h⃖[t+1,J], e[w[t],I])
P(w[t] | w[0], …, w[t-1], w[t+1], …, w[T-1]) =
    softmax_{w_t} e[w_t,I] W⃗[I,J] h⃗[t-1,J] + e[w_t,I] W⃖[I,J] h⃖[t+1,J]
loss = 1/T Σ_t -ln P(w_t | …)
