# positions_sinusoidal: waves of many lengths tell the positions, added to the word's vector
# Vaswani et al. 2017, §3.5, arXiv:1706.03762; sines before cosines instead of in turn
input w[t] in V
pos[t,j] = sin(t / 10000^{2j/J}) for j < J/2
pos[t,j] = cos(t / 10000^{2j/J-1}) for j ≥ J/2
L_0[t,j] = e[w[t],j] + pos[t,j]
