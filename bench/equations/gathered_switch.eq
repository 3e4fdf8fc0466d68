# gathered_switch: the same with the matrices of the likeliest expert picked for each token
input x[t,j]
g[t,e] = W^G[e,J] x[t,J]
P[t,e] = softmax_e g[t,e]
a[t] = argmax_e g[t,e]
u[t,f] = ReLU(W^1[a[t],f,J] x[t,J])
h[t,j] = P[t,a[t]] W^2[a[t],j,F] u[t,F]
