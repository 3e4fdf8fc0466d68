# positions_relative: self-attention with a learned bias for each distance, none beyond the range
# Raffel et al. 2020, §2.1, arXiv:1910.10683, without the buckets
input x[t,j]
range Δt = -32..32
parameter r[k,Δt]
Query[k,t,i] = W^Q[k,i,J] x[t,J]
Key[k,t,i] = W^K[k,i,J] x[t,J]
Value[k,t,i] = W^V[k,i,J] x[t,J]
α[k,t_1,t_2] = softmax_{t_2} 1/√I Query[k,t_1,I] Key[k,t_2,I] + r[k,t_1-t_2]
h̃[k,t,i] = α[k,t,T] Value[k,T,i]
ĥ[t,(k,i)] = h̃[k,t,i]
y[t,j] = W^O[j,C] ĥ[t,C]
