# temperature: a softmax with inverse temperature β; at β = 1 its scores begin with unit variance
# TTIC 31230, 2020 problems, "Adjusting Temperature for Dimension"
input w[t] in V
input h[t,i]
constant β = 1
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} β/√I e[w_t,I] h[t-1,I]
w[t] ~ P(w_t | …)
