# rhn: a recurrent highway network (Zilly et al. 2017), L layers within each step
input x[t,k]
s[t,0,j] = s[t-1,L,j]
H[t,ℓ+1,j] = tanh(R^H[ℓ,j,I] s[t,ℓ,I] + 1[ℓ = 0] W^H[j,K] x[t,K] - B^H[ℓ,j])
G[t,ℓ+1,j] = σ(R^G[ℓ,j,I] s[t,ℓ,I] + 1[ℓ = 0] W^G[j,K] x[t,K] - B^G[ℓ,j])
s[t,ℓ+1,j] = G[t,ℓ+1,j] H[t,ℓ+1,j] + (1 - G[t,ℓ+1,j]) s[t,ℓ,j]
h[t,j] = s[t,L,j]
