input w[t] in V
constant β = 1
h[t,j] = tanh(W^1[j,I] e[w[t-2],I] + W^2[j,I] e[w[t-1],I])
P(w_t | w_{t-2}, w_{t-1}) = softmax_{w_t} β h[t,J] e[w_t,J]
loss = 1/T Σ_t -ln P(w_t | …)
