# argmax_attention: exactly the value whose key is most similar to the query
# CS 672 Neural Network, 2023, assignment 3, "Argmax Attention"
input Query[t,i]
input Key[n,i]
input Value[n,j]
a[t] = argmax_n Query[t,I] Key[n,I]
h[t,j] = Value[a[t],j]
