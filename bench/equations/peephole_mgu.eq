# peephole_mgu: a minimal gated unit whose gate also looks at its own memory
# The gate stands inside the second product, so a step has two products that wait for each other.
input x[t,k]
G[t,j] = σ(W^{h,G}[j,I] h[t-1,I] + W^{x,G}[j,K] x[t,K] + p[j] h[t-1,j] - B^G[j])
R[t,j] = tanh(W^{h,R}[j,I] G[t,I] h[t-1,I] + W^{x,R}[j,K] x[t,K] - B^R[j])
h[t,j] = (1 - G[t,j]) h[t-1,j] + G[t,j] R[t,j]
