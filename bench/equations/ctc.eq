# ctc: the loss of connectionist temporal classification (Graves et al. 2006); l has blanks, 0, between labels
input E[t,v]
input l[s] in V
P[t,v] = softmax_v E[t,v]
α[0,s] = cases { ln P[0,l[s]] if s ≤ 1, -∞ otherwise }
α[t,s] = ln(exp(α[t-1,s]) + [s ≥ 1] exp(α[t-1,s-1])
    + [s ≥ 2 and l[s] ≠ 0 and l[s] ≠ l[s-2]] exp(α[t-1,s-2])) + ln P[t,l[s]] for t > 0
loss = -ln(exp(α[T-1,S-1]) + exp(α[T-1,S-2]))
