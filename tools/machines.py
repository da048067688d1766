"""Machines that this one can play, to see that the same seed gives the same bits on all of them.

A machine is an environment for a new process. NumPy, BLAS, libm and the kernels of this package choose their
code by the CPU, and let the environment lower the choice. Hashes of strings and the locale differ, too.
tests/test_same_bits.py and tools/same-bits use these machines, and no others.
"""

import platform

try:
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
except ImportError:  # NumPy 1
    from numpy.core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from bayespa import _native


def features() -> list[str]:
    """Return the features of this CPU that NumPy has code for, beyond what it needs anyway."""
    return [name for name in __cpu_dispatch__ if __cpu_features__[name]]


def machines() -> dict[str, dict[str, str]]:
    """Return the environment of each machine: this one, one without AVX-512, one without AVX, too."""
    found = {
        "this": {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
        "Haswell": {
            "NPY_DISABLE_CPU_FEATURES": " ".join(n for n in features() if "512" in n or n == "X86_V4"),
            "OPENBLAS_CORETYPE": "HASWELL",
            "BAYESPA_ISA": "v3" if "v3" in _native.available_isas() else "",
            "PYTHONHASHSEED": "1",
            "LC_ALL": "C",
        },
        "Nehalem": {
            "NPY_DISABLE_CPU_FEATURES": " ".join(features()),
            "OPENBLAS_CORETYPE": "NEHALEM",
            "OPENBLAS_NUM_THREADS": "1",
            "BAYESPA_ISA": "baseline",
            "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable,-FMA4_Usable",
            "PYTHONHASHSEED": "2",
            "LC_ALL": "C.UTF-8",
        },
    }
    if platform.machine() != "x86_64":
        for environment in found.values():
            environment.pop("OPENBLAS_CORETYPE", None)
            environment.pop("GLIBC_TUNABLES", None)
    return {
        name: {key: value for key, value in environment.items() if value}
        for name, environment in found.items()
    }
