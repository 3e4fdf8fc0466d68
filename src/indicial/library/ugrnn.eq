# ugrnn: the update-gate RNN
# Collins, Sohl-Dickstein and Sussillo 2016, arXiv:1611.09913
input x[t,k]
R[t,j] = tanh(W^{h,R}[j,I] h[t-1,I] + W^{x,R}[j,K] x[t,K] - B^R[j])
G[t,j] = σ(W^{h,G}[j,I] h[t-1,I] + W^{x,G}[j,K] x[t,K] - B^G[j])
h[t,j] = G[t,j] h[t-1,j] + (1 - G[t,j]) R[t,j]
