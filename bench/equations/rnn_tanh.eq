# rnn_tanh: the vanilla RNN of nn.RNN, with tanh where the library's rnn has σ
input x[t,k]
h[t,j] = tanh(W^{h,h}[j,I] h[t-1,I] + W^{x,h}[j,K] x[t,K] - B[j])
