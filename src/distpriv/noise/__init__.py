"""What the noise is: the law of Z in F(Data) + Z."""
