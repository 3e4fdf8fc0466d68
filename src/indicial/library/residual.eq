# residual: a residual stack of RNNs of any cell
# Wu et al. 2016, §3.1, arXiv:1609.08144
input x[t,k]
CELL = ugrnn
h_0[t,j] = W^x[j,K] x[t,K]
R_{ℓ+1}[t,J] = CELL_{Φ[ℓ]}(R_{ℓ+1}[t-1,J], h_ℓ[t,J])
h_{ℓ+1}[t,j] = h_ℓ[t,j] + R_{ℓ+1}[t,j]
