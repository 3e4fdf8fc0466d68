# rms_norm: each vector to root mean square 1, then a gain
# Zhang and Sennrich 2019, arXiv:1910.07467
input x[t,j]
constant ε = 1e-5
v[t] = 1/J Σ_j x[t,j]^2
y[t,j] = g[j] x[t,j] / √(v[t] + ε)
