input M[x,y,k]
input w[t] in V
P(w_t | M, w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,I] W^{auto}[I,J] h[t-1,J]
α[t,x,y] = softmax_{x,y} h[t-1,J] W^{key}[J,K] M[x,y,K]
c[t,k] = Σ_{x,y} α[t,x,y] M[x,y,k]
h[t,j] = tanh(W^{h,h}[j,I] h[t-1,I] + W^{c,h}[j,K] c[t,K] + W^{e,h}[j,I] e[w_t,I] - B[j])
