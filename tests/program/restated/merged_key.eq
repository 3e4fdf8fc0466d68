input L_0[t,j]
α_{ℓ+1}[k,t_1,t_2] = softmax_{t_2} L_ℓ[t_1,J_1] W̃^Q_{ℓ+1}[k,J_1,J_2] L_ℓ[t_2,J_2]
L_{ℓ+1}[t,j] = L_ℓ[t,j] + W^{KV}_{ℓ+1}[j,K,J] α_{ℓ+1}[K,t,T] L_ℓ[T,J]
