input x_t[b,k]
R̃_t[b,j] = (Σ_i W^{h,R}[j,i] h_{t-1}[b,i]) + (Σ_k W^{x,R}[j,k] x_t[b,k]) - B^R[j]
R_t[b,j] = tanh(R̃_t[b,j])
G̃_t[b,j] = (Σ_i W^{h,G}[j,i] h_{t-1}[b,i]) + (Σ_k W^{x,G}[j,k] x_t[b,k]) - B^G[j]
G_t[b,j] = σ(G̃_t[b,j])
h_t[b,j] = G_t[b,j] h_{t-1}[b,j] + (1 - G_t[b,j]) R_t[b,j]
