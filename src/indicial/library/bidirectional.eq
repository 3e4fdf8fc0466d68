# bidirectional: two RNNs of any cell, one forward, one backward, joined
# Schuster and Paliwal 1997, Bidirectional Recurrent Neural Networks
input x[t,k]
CELL = ugrnn
h⃗[t,J] = CELL(h⃗[t-1,J], x[t,K])
h⃖[t,J] = CELL(h⃖[t+1,J], x[t,K])
h[t,C] = h⃗[t,J]; h⃖[t,J]
