# deltanet: what a key held before is erased as the new value is written (Yang et al. 2024)
input x[t,k]
Query[t,i] = W^Q[i,K] x[t,K]
r[t,i] = W^K[i,K] x[t,K]
Key[t,i] = r[t,i] / √(r[t,I] r[t,I])
Value[t,j] = W^V[j,K] x[t,K]
β[t] = σ(w^β[K] x[t,K] + b^β)
S[t,i,j] = S[t-1,i,j] + β[t] Key[t,i] (Value[t,j] - Key[t,I] S[t-1,I,j])
h[t,j] = Query[t,I] S[t,I,j]
