input w[b,t] in V
range Δt = -1..1
L_0[b,t,i] = e[w[b,t],i]
L_{ℓ+1}[b,t,i] = σ((Σ_{Δt,i'} W_{ℓ+1}[Δt,i',i] L_ℓ[b,2t+Δt,i']) - B_{ℓ+1}[i])
