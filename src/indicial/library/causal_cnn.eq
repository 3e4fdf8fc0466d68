# causal_cnn: a language model of causal convolutions in residual layers
# Bai et al. 2018, §3, arXiv:1803.01271, without the dilation
input w[t] in V
range Δt = 0..2
L_0[t,i] = e[w[t-1],i]
L_{ℓ+1}[t,i] = L_ℓ[t,i] + ReLU(W_{ℓ+1}[ΔT,I',i] L_ℓ[t-ΔT,I'] - B_{ℓ+1}[i])
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} e[w_t,I] L_L[t,I]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
