# ugcnn: the update-gate CNN for images
# TTIC 31230, 2020 problems, "Gated CNNs"
input M[x,y,c]
range Δx = -1..1
range Δy = -1..1
L_0[x,y,j] = W^M[j,C] M[x,y,C]
R_{ℓ+1}[x,y,j] = tanh(W^R_{ℓ+1}[ΔX,ΔY,I,j] L_ℓ[x+ΔX,y+ΔY,I] - B^R_{ℓ+1}[j])
G_{ℓ+1}[x,y,j] = σ(W^G_{ℓ+1}[ΔX,ΔY,I,j] L_ℓ[x+ΔX,y+ΔY,I] - B^G_{ℓ+1}[j])
L_{ℓ+1}[x,y,j] = G_{ℓ+1}[x,y,j] L_ℓ[x,y,j] + (1 - G_{ℓ+1}[x,y,j]) R_{ℓ+1}[x,y,j]
