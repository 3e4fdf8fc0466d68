input x[t,k]
R[t,j] = tanh(W^{h,R}[j,I] h[t-1,I] + W^{x,R}[j,K] x[t,K] - B^R[j])
G[t,j] = σ(W^{h,G}[j,I] h[t-1,I] + W^{x,G}[j,K] x[t,K] - B^G[j])
h[t,J] = G[t,J] ⊙ h[t-1,J] + (1 - G[t,J]) ⊙ R[t,J]
