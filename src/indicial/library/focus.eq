# focus: a loss that asks each head of a causal model to look at few words
# TTIC 31230, 2020 problems, "Transformers as Dependency Parsers", (b)
input loss
input α[ℓ,k,t_1,t_2]
range ℓ = 1..L
constant λ = 0.01
ℒ_{LM} = loss
ℒ_{focus} = 1/(K T L) Σ_{ℓ,k,t_1} Σ_{t_2 ≤ t_1} α[ℓ,k,t_1,t_2] (-ln α[ℓ,k,t_1,t_2])
ℒ_{total} = ℒ_{LM} + λ ℒ_{focus}
