input M[b,x,y,c]
range Δx = -1..1
range Δy = -1..1
L_0[b,x,y,j] = W^M[j,C] M[b,x,y,C]
R_{ℓ+1}[b,x,y,j] = tanh((Σ_{Δx,Δy,i} W^R_{ℓ+1}[Δx,Δy,i,j] L_ℓ[b,x+Δx,y+Δy,i]) - B^R_{ℓ+1}[j])
G_{ℓ+1}[b,x,y,j] = σ((Σ_{Δx,Δy,i} W^G_{ℓ+1}[Δx,Δy,i,j] L_ℓ[b,x+Δx,y+Δy,i]) - B^G_{ℓ+1}[j])
L_{ℓ+1}[b,x,y,j] = G_{ℓ+1}[b,x,y,j] L_ℓ[b,x,y,j] + (1 - G_{ℓ+1}[b,x,y,j]) R_{ℓ+1}[b,x,y,j]
