# grid_rnn: an RNN along rows and columns (Graves et al. 2007)
input x[m,n,k]
h[m,n,j] = tanh(W[j,K] x[m,n,K] + U[j,I] h[m-1,n,I] + V[j,I] h[m,n-1,I])
