# captioning_features: features of an image into words, each word with an attention over positions
# Xu et al. 2015, §3.1, arXiv:1502.03044; TTIC 31230, 2020 problems, "Image Captioning"
input M[x,y,k]
input w[t] in V
CELL = ugrnn
h[-1,j] = tanh(mean_{x,y} W^{start}[j,K] M[x,y,K])
α[t,x,y] = softmax_{x,y} h[t-1,J] W^{key}[J,K] M[x,y,K]
c[t,k] = α[t,X,Y] M[X,Y,k]
h[t,J] = CELL(h[t-1,J], c[t,K], e[w[t],I])
P(w[t] | M, w[0], …, w[t-1]) = softmax_{w_t} e[w_t,I] W^{auto}[I,J] h[t-1,J]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
