# positions_concatenated: a learned vector for each position, joined to the word's
# TTIC 31230, 2023, "The Transformer: Self Attention"
input w[t] in V
parameter pos[t,j]
L_0[t,C] = e[w[t],I]; pos[t,J]
