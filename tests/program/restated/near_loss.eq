input α[ℓ,k,t_1,t_2]
input ℒ_{LM}
constant λ = 0.1
constant L_{max} = 10
ℒ_{near} = 1/(K T (L-1)) Σ_{k,t_1,0≤ℓ≤L-2} min(L_{max}, Σ_{t_2} α[ℓ,k,t_1,t_2] (t_1-t_2)^2)
ℒ_{total} = ℒ_{LM} + λ ℒ_{near}
