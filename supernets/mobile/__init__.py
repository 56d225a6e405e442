"""Networks of inverted bottlenecks whose depths, kernels and expansions are elastic (Cai et al., 2020)."""
