# blank_log_loss: the log loss of a blanked word, over all places for the blank
# TTIC 31230, 2020 problems, "Blank Language modeling"
input w[t] in V
input h⃗[t,j]
input h⃖[t,j]
P(w[t] | w[0], …, w[t-1], w[t+1], …, w[T-1]) =
    softmax_{w_t} e[w_t,I] W⃗[I,J] h⃗[t-1,J] + e[w_t,I] W⃖[I,J] h⃖[t+1,J]
loss = 1/T Σ_t -ln P(w_t | …)
