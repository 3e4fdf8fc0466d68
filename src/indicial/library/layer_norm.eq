# layer_norm: each vector to mean 0 and variance 1, then a gain and a bias
# Ba, Kiros and Hinton 2016, §3, arXiv:1607.06450
input x[t,j]
constant ε = 1e-5
μ[t] = 1/J Σ_j x[t,j]
v[t] = 1/J Σ_j (x[t,j] - μ[t])^2
y[t,j] = g[j] (x[t,j] - μ[t]) / √(v[t] + ε) + b[j]
