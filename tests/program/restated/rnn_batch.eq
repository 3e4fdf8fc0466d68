input x[b,t,k]
h[b,t,j] = σ(Σ_i W^{h,h}[j,i] h[b,t-1,i] + Σ_k W^{x,h}[j,k] x[b,t,k] - B[j])
