# captioning: the points of an image into words, each word with an attention over places
# after Xu et al. 2015, §3, arXiv:1502.03044; a small image network, whose places look at each other
input I[x,y,c]
input w[t] in V
parameter pos[x,y,k]
range Δx = -1..1
range Δy = -1..1
CELL = gru
F[x,y,m] = ReLU(W^F[ΔX,ΔY,C,m] I[2x+ΔX,2y+ΔY,C] - B^F[m])
G[x,y,k] = ReLU(W^G[ΔX,ΔY,M,k] F[2x+ΔX,2y+ΔY,M] - B^G[k])
A[x,y,k] = G[x,y,k] + pos[x,y,k] + ReLU(W^A[ΔX,ΔY,K',k] G[x+ΔX,y+ΔY,K'] - B^A[k])
N[x,y,K] = layernorm(A[x,y,K])
β[x,y,x',y'] = softmax_{x',y'} (W^Q[D,K] N[x,y,K]) (W^K[D,K] N[x',y',K]) / √D
E[x,y,k] = A[x,y,k] + W^V[k,K'] β[x,y,X',Y'] N[X',Y',K']
H[x,y,K] = layernorm(E[x,y,K])
u[n] = mean_{x,y} ReLU(W^u[n,K] H[x,y,K] - B^u[n])
h[-1,j] = tanh(W^{start}[j,N] u[N])
h[t,J] = CELL(h[t-1,J], e[w[t-1],D])
α[t,x,y] = softmax_{x,y} h[t,J] W^{key}[J,K] H[x,y,K]
c[t,k] = α[t,X,Y] H[X,Y,k]
o[t,d] = tanh(W^h[d,J] h[t,J] + W^c[d,K] c[t,K])
P(w[t] | I, w[0], …, w[t-1]) = softmax_{w_t} e[w_t,D] o[t,D]
loss = 1/T Σ_t -ln P(w_t | …)
w[t] ~ P(w_t | …)
