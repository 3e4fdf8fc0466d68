# mlp: a feed-forward network with one hidden layer; it fills a function that a text only names
# Goodfellow, Bengio and Courville 2016, §6.1, Deep Learning, MIT Press
input x[t,k]
mlp(x[I])[j] = W^2[j,N] tanh(W^1[N,I] x[I] - B^1[N]) - B^2[j]
y[t,j] = mlp(x[t,K])[j]
