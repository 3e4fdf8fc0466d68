# masked: words of a text are blanked, and each is predicted from what an encoder makes of the rest
# Devlin et al. 2019, §3.1, Task 1, arXiv:1810.04805; w with its blanks, u without, m[t] = 1 at a blank
input u[t] in V
input m[t]
input L[ℓ,t,j]
range ℓ = 0..L
P(u[t] | w) = softmax_{u_t} e[u_t,J] L[L,t,J] - B^P[u_t]
Z = Σ_t m[t]
loss = 1/Z Σ_t m[t] (-ln P(u_t | …))
