input α[ℓ,k,t_1,t_2]
input ℒ_{LM}
constant λ = 0.1
ℒ_{focus} = 1/(K T L) Σ_{ℓ,k,t_1} Σ_{t_2} α[ℓ,k,t_1,t_2] (-ln α[ℓ,k,t_1,t_2])
ℒ_{total} = ℒ_{LM} + λ ℒ_{focus}
