# synthesizer_dense: attention weights from each position alone, without keys
# Tay et al. 2020, arXiv:2005.00743, "Dense Synthesizer"
input x[t,j]
parameter W^2[k,t,d], B^2[k,t]
Value[k,t,i] = W^V[k,i,J] x[t,J]
R[k,t,d] = ReLU(W^1[k,d,J] x[t,J] - B^1[k,d])
α[k,t_1,t_2] = softmax_{t_2} W^2[k,t_2,D] R[k,t_1,D] - B^2[k,t_2]
h̃[k,t,i] = α[k,t,T] Value[k,T,i]
ĥ[t,(k,i)] = h̃[k,t,i]
y[t,j] = W^O[j,C] ĥ[t,C]
