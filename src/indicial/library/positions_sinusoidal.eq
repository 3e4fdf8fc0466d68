# positions_sinusoidal: waves of many lengths tell the positions, added to the word's vector
# Vaswani et al. 2017, §3.5, arXiv:1706.03762
input w[t] in V
pos[t,j] = sin(t / 10000^{j/J}) for j = 2 floor(j/2)
pos[t,j] = cos(t / 10000^{(j-1)/J}) for j > 2 floor(j/2)
L_0[t,j] = e[w[t],j] + pos[t,j]
