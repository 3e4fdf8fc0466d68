# mixtral: each token has the two likeliest experts, weighted by a softmax over these
input x[t,j]
g[t,e] = W^G[e,J] x[t,J]
P[t,e] = softmax_{top_k(g[t,e], 2) = 1} g[t,e]
u[t,e,f] = ReLU(W^1[e,f,J] x[t,J])
h[t,j] = P[t,E] W^2[E,j,F] u[t,E,F]
