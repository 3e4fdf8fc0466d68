# retnet: retention, a matrix of keys and values that fades by a number (Sun et al. 2023)
input x[t,k]
Query[t,i] = W^Q[i,K] x[t,K]
Key[t,i] = W^K[i,K] x[t,K]
Value[t,j] = W^V[j,K] x[t,K]
S[t,i,j] = 0.97 S[t-1,i,j] + Key[t,i] Value[t,j]
h[t,j] = Query[t,I] S[t,I,j]
