# coupled_lstm: an LSTM that forgets as much as it takes in, its memory read through a ReLU
input x[t,k]
G^f[t,j] = σ(W^{h,f}[j,I] h[t-1,I] + W^{x,f}[j,K] x[t,K] - B^f[j])
G^o[t,j] = σ(W^{h,o}[j,I] h[t-1,I] + W^{x,o}[j,K] x[t,K] - B^o[j])
R[t,j] = tanh(W^{h,R}[j,I] h[t-1,I] + W^{x,R}[j,K] x[t,K] - B^R[j])
c[t,j] = G^f[t,j] c[t-1,j] + (1 - G^f[t,j]) R[t,j]
h[t,j] = G^o[t,j] ReLU(c[t,j])
