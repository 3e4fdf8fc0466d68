# rnn: the vanilla RNN
# Elman 1990, Finding Structure in Time; as in TTIC 31230, 2023, "Vanilla RNNs"
input x[t,k]
h[t,j] = σ(W^{h,h}[j,I] h[t-1,I] + W^{x,h}[j,K] x[t,K] - B[j])
