# switch: experts of which each token has the likeliest one, by a gate that is 0 for all others
input x[t,j]
g[t,e] = W^G[e,J] x[t,J]
P[t,e] = softmax_e g[t,e]
u[t,e,f] = ReLU(W^1[e,f,J] x[t,J])
h[t,j] = Σ_e [e = argmax_{e'} g[t,e']] P[t,e] W^2[e,j,F] u[t,e,F]
