# lstm: long short-term memory with a forget gate
# Hochreiter and Schmidhuber 1997; forget gate: Gers, Schmidhuber and Cummins 2000
input x[t,k]
G^f[t,j] = σ(W^{h,f}[j,I] h[t-1,I] + W^{x,f}[j,K] x[t,K] - B^f[j])
G^i[t,j] = σ(W^{h,i}[j,I] h[t-1,I] + W^{x,i}[j,K] x[t,K] - B^i[j])
G^o[t,j] = σ(W^{h,o}[j,I] h[t-1,I] + W^{x,o}[j,K] x[t,K] - B^o[j])
R[t,j] = tanh(W^{h,R}[j,I] h[t-1,I] + W^{x,R}[j,K] x[t,K] - B^R[j])
c[t,j] = G^f[t,j] c[t-1,j] + G^i[t,j] R[t,j]
h[t,j] = G^o[t,j] tanh(c[t,j])
