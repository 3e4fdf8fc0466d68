# cross_attention: translation with inner-product attention of each output word over the input
# TTIC 31230, 2023, "Encoder-Decoder Models with Cross-Attention"
input x[t_{in}] in U
input w[t] in V
CELL = ugrnn
h_{in}[t_{in},N] = CELL(h_{in}[t_{in}+1,N], e_{in}[x[t_{in}],N])
h_{out}[-1,N] = h_{in}[0,N]
h_{out}[t,N] = CELL(h_{out}[t-1,N], e_{out}[w[t],N])
α[t,t_{in}] = softmax_{t_{in}} e_{out}[w[t],N] h_{in}[t_{in},N]
h̃_{out}[t,n] = α[t,T_{in}] h_{in}[T_{in},n]
P(w[t] | x, w[0], …, w[t-1]) =
    softmax_{w_t} e_{out}[w_t,N] (W^h[N,M] h_{out}[t-1,M] + W^α[N,M] h̃_{out}[t-1,M])
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
