input h[ℓ,t,i]
constant β = 2
α[ℓ,t,w] = softmax_w β h[ℓ,t,I] e[w,I]
y[ℓ,t,i] = α[ℓ,t,W] e[W,i]
