# synthesizer_random: attention weights that are parameters, the same for every text
# Tay et al. 2020, arXiv:2005.00743, "Random Synthesizer"
input x[t,j]
parameter R[k,t_1,t_2]
Value[k,t,i] = W^V[k,i,J] x[t,J]
α[k,t_1,t_2] = softmax_{t_2} R[k,t_1,t_2]
h̃[k,t,i] = α[k,t,T] Value[k,T,i]
ĥ[t,(k,i)] = h̃[k,t,i]
y[t,j] = W^O[j,C] ĥ[t,C]
