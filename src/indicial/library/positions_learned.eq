# positions_learned: a learned vector for each position, added to the word's
# Gehring et al. 2017, §3.1, arXiv:1705.03122
input w[t] in V
parameter pos[t,j]
L_0[t,j] = e[w[t],j] + pos[t,j]
