input x[t_{in}] in U
input w[t] in V
h_{in}[t_{in},n] = tanh(W^{in}[n,M] h_{in}[t_{in}+1,M] + e_{in}[x[t_{in}],n])
h_{out}[-1,n] = h_{in}[0,n]
h_{out}[t,n] = tanh(W^{out}[n,M] h_{out}[t-1,M] + e_{out}[w[t],n])
P(w_t | x, w_0, …, w_{t-1}) = softmax_{w_t} e_{out}[w_t,N] h_{out}[t-1,N]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
