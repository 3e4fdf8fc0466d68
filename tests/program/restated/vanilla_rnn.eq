input x[t,k]
h[t,j] = σ(W^{h,h}[j,I] h[t-1,I] + W^{x,h}[j,K] x[t,K] - B[j])
