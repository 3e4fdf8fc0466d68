# peak_memory: two states, the one remembers the largest of what decays and what is new
input x[t,k]
R[t,j] = tanh(W^{h,R}[j,I] h[t-1,I] + W^{x,R}[j,K] x[t,K] - B^R[j])
G^d[t,j] = σ(W^{h,d}[j,I] h[t-1,I] + W^{x,d}[j,K] x[t,K] - B^d[j])
G^o[t,j] = σ(W^{h,o}[j,I] h[t-1,I] + W^{x,o}[j,K] x[t,K] - B^o[j])
m[t,j] = max(G^d[t,j] m[t-1,j], R[t,j])
h[t,j] = G^o[t,j] h[t-1,j] + (1 - G^o[t,j]) m[t,j]
