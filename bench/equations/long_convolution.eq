# long_convolution: a filter as long as the text for each unit, as in S4 and Hyena once their filters are there
input x[t,j]
parameter k[t,j]
h[t,j] = Σ_{s ≤ t} k[t-s,j] x[s,j]
