# mlstm: the matrix memory of xLSTM, with exponential gates kept in range by m (Beck et al. 2024)
input x[t,k]
Query[t,i] = W^Q[i,K] x[t,K]
Key[t,i] = 1/√I W^K[i,K] x[t,K]
Value[t,j] = W^V[j,K] x[t,K]
o[t,j] = σ(W^O[j,K] x[t,K] + B^O[j])
a[t] = w^a[K] x[t,K] + b^a
f[t] = w^f[K] x[t,K] + b^f
ℓ[t] = -softplus(-f[t])
m[t] = max(ℓ[t] + m[t-1], a[t])
p[t] = exp(a[t] - m[t])
d[t] = exp(ℓ[t] + m[t-1] - m[t])
S[t,i,j] = d[t] S[t-1,i,j] + p[t] Key[t,i] Value[t,j]
n[t,i] = d[t] n[t-1,i] + p[t] Key[t,i]
z[t] = max(abs(n[t,I] Query[t,I]), 1)
h[t,j] = o[t,j] Query[t,I] S[t,I,j] / z[t]
