# gru_outside: the gated recurrent unit of nn.GRU, its reset gate outside the product
# Chung et al. 2014 as cuDNN computes it; the library's gru has the gate inside
input x[t,k]
G^r[t,j] = σ(W^{h,r}[j,I] h[t-1,I] + W^{x,r}[j,K] x[t,K] - B^r[j])
G^z[t,j] = σ(W^{h,z}[j,I] h[t-1,I] + W^{x,z}[j,K] x[t,K] - B^z[j])
R[t,j] = tanh(G^r[t,j] (W^{h,R}[j,I] h[t-1,I] - B^{h,R}[j]) + W^{x,R}[j,K] x[t,K] - B^R[j])
h[t,j] = G^z[t,j] h[t-1,j] + (1 - G^z[t,j]) R[t,j]
