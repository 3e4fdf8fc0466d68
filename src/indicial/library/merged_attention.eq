# merged_attention: self-attention with one matrix in place of query and key
# TTIC 31230, 2020 problems, "Eliminating the Key Matrix"
input x[t,j]
Value[k,t,i] = W^V[k,i,J] x[t,J]
α[k,t_1,t_2] = softmax_{t_2} x[t_1,J_1] W^{QK}[k,J_1,J_2] x[t_2,J_2]
h̃[k,t,i] = α[k,t,T] Value[k,T,i]
ĥ[t,(k,i)] = h̃[k,t,i]
y[t,j] = W^O[j,C] ĥ[t,C]
