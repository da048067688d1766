"""The native kernels with types: what goes in, what comes out, the call. `bayespa.reference` has twins."""
