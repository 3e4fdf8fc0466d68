input w[t] in V
h⃗[t,j] = σ(W^{h⃗}[j,I] h⃗[t-1,I] + W^{x⃗}[j,K] e[w[t],K] - B^{h⃗}[j])
h⃖[t,j] = σ(W^{h⃖}[j,I] h⃖[t+1,I] + W^{x⃖}[j,K] e[w[t],K] - B^{h⃖}[j])
P(w_t | w_0, …, w_{t-1}, w_{t+1}, …, w_{T-1}) = softmax_{w_t} e[w_t,I] W⃗[I,J] h⃗[t-1,J] + e[w_t,I] W⃖[I,J] h⃖[t+1,J]
loss = mean_t -ln P(w_t | …)
