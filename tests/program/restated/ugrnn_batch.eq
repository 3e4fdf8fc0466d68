input x[b,t,k]
R[b,t,j] = tanh(W^{h,R}[j,I] h[b,t-1,I] + W^{x,R}[j,K] x[b,t,K] - B^R[j])
G[b,t,j] = σ(W^{h,G}[j,I] h[b,t-1,I] + W^{x,G}[j,K] x[b,t,K] - B^G[j])
h[b,t,j] = G[b,t,j] h[b,t-1,j] + (1 - G[b,t,j]) R[b,t,j]
