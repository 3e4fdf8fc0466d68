W^{QK}[k,j_1,j_2] = W^Q[k,I,j_1] W^K[k,I,j_2]
input x[t,j]
α[k,t_1,t_2] = softmax_{t_2} 1/sqrt(I) x[t_1,J] W^{QK}[k,J,J'] x[t_2,J']
y[k,t,j] = α[k,t,T] x[T,j]
