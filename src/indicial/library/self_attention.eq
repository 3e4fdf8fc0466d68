# self_attention: one layer of multi-head self-attention
# Vaswani et al. 2017, §3.2, arXiv:1706.03762; as in TTIC 31230, 2023, "Query-Key Attention"
input x[t,j]
Query[k,t,i] = W^Q[k,i,J] x[t,J]
Key[k,t,i] = W^K[k,i,J] x[t,J]
Value[k,t,i] = W^V[k,i,J] x[t,J]
α[k,t_1,t_2] = softmax_{t_2} 1/√I Query[k,t_1,I] Key[k,t_2,I]
h̃[k,t,i] = α[k,t,T] Value[k,T,i]
ĥ[t,(k,i)] = h̃[k,t,i]
y[t,j] = W^O[j,C] ĥ[t,C]
