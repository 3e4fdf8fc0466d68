# selects: one attention head on one-hot tokens, each joined to the vector of its position
# Vaswani et al. 2017, §3.2.1, arXiv:1706.03762; joined as in TTIC 31230, 2023, "The Transformer"
input w[t] in V
parameter pos[t,p]
token[t,v] = [v = w[t]]
x[t,C] = token[t,V]; pos[t,P]
Query[t,i] = W^Q[i,C] x[t,C]
Key[t,i] = W^K[i,C] x[t,C]
Value[t,o] = W^V[o,C] x[t,C]
α[t_1,t_2] = softmax_{t_2} 1/√I Query[t_1,I] Key[t_2,I]
y[t,o] = α[t,T] Value[T,o]
