# thought_vector: translation through one vector, from a backward encoder to a forward decoder
# Sutskever et al. 2014, §2, arXiv:1409.3215; TTIC 31230, 2023, "Translation Using Thought Vectors"
input x[t_{in}] in U
input w[t] in V
CELL = ugrnn
h_{in}[t_{in},J] = CELL(h_{in}[t_{in}+1,J], e_{in}[x[t_{in}],I])
h_{out}[-1,J] = h_{in}[0,J]
h_{out}[t,J] = CELL(h_{out}[t-1,J], e_{out}[w[t],I])
P(w[t] | x, w[0], …, w[t-1]) = softmax_{w_t} e_{out}[w_t,I] W[I,J] h_{out}[t-1,J]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
