# language_cnn: a CNN over a sentence, each layer half as long as the one below
# TTIC 31230, 2020 problems, "Language CNNs"
input w[t] in V
range Δt = -1..1
L_0[t,i] = e[w[t],i]
L_{ℓ+1}[t,i] = σ(W_{ℓ+1}[ΔT,I',i] L_ℓ[2t+ΔT,I'] - B_{ℓ+1}[i])
