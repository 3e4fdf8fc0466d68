# mamba: a selective state space, each element fades at its own rate (Gu and Dao 2023)
input x[t,j]
Δ[t,j] = softplus(W^Δ[j,J] x[t,J] + b[j])
B[t,n] = W^B[n,J] x[t,J]
C[t,n] = W^C[n,J] x[t,J]
S[t,j,n] = exp(-Δ[t,j] exp(A[j,n])) S[t-1,j,n] + Δ[t,j] x[t,j] B[t,n]
h[t,j] = C[t,N] S[t,j,N] + D[j] x[t,j]
