# gla: gated linear attention, each key fades by a gate of its own (Yang et al. 2024)
input x[t,k]
Query[t,i] = W^Q[i,K] x[t,K]
Key[t,i] = W^K[i,K] x[t,K]
Value[t,j] = W^V[j,K] x[t,K]
g[t,i] = σ(W^G[i,K] x[t,K] + B^G[i])
S[t,i,j] = g[t,i] S[t-1,i,j] + Key[t,i] Value[t,j]
h[t,j] = Query[t,I] S[t,I,j]
