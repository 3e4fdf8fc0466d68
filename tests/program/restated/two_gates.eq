input x[b,t,k]
G_1[b,t,j] = σ(W^{h,G_1}[j,I] h[b,t-1,I] + W^{x,G_1}[j,K] x[b,t,K] - B^{G_1}[j])
h'[b,t,j] = G_1[b,t,j] h[b,t-1,j]
G_2[b,t,j] = σ(W^{h,G_2}[j,I] h[b,t-1,I] + W^{x,G_2}[j,K] x[b,t,K] - B^{G_2}[j])
R[b,t,j] = tanh(W^{h,R}[j,I] h'[b,t,I] + W^{x,R}[j,K] x[b,t,K] - B^R[j])
h[b,t,j] = (1 - G_2[b,t,j]) h[b,t-1,j] + G_2[b,t,j] R[b,t,j]
