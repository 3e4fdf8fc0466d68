# stacked: layers of RNNs of any cell, each reading the states of the one below
# Pascanu et al. 2014, arXiv:1312.6026; TTIC 31230, 2023, "Multi-Layer RNNs"
input x[t,k]
CELL = ugrnn
h_0[t,j] = W^x[j,K] x[t,K]
h_{ℓ+1}[t,J] = CELL_{Φ[ℓ]}(h_{ℓ+1}[t-1,J], h_ℓ[t,J])
