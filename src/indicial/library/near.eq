# near: a loss that asks each head below the top layer to look nearby, far looks bounded by ℒ_{max}
# TTIC 31230, 2020 problems, "Transformers as Dependency Parsers", (c)
input loss
input α[ℓ,k,t_1,t_2]
range ℓ = 1..L
constant λ = 0.01
constant ℒ_{max} = 100
ℒ_{LM} = loss
ℒ_{near} = 1/(K T (L-1)) Σ_{k,t_1,1≤ℓ≤L-1} min(ℒ_{max}, Σ_{t_2} α[ℓ,k,t_1,t_2] (t_1-t_2)^2)
ℒ_{total} = ℒ_{LM} + λ ℒ_{near}
