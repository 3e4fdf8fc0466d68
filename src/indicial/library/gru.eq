# gru: the gated recurrent unit, its reset gate inside the product
# Cho et al. 2014, §2.3, arXiv:1406.1078, with biases
input x[t,k]
G^r[t,j] = σ(W^{h,r}[j,I] h[t-1,I] + W^{x,r}[j,K] x[t,K] - B^r[j])
G^z[t,j] = σ(W^{h,z}[j,I] h[t-1,I] + W^{x,z}[j,K] x[t,K] - B^z[j])
R[t,j] = tanh(W^{h,R}[j,I] G^r[t,I] h[t-1,I] + W^{x,R}[j,K] x[t,K] - B^R[j])
h[t,j] = G^z[t,j] h[t-1,j] + (1 - G^z[t,j]) R[t,j]
