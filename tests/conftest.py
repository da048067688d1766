import pytest

from bayespa import _native


@pytest.fixture(params=_native.available_isas())
def isa(request, monkeypatch):
    """Run the test once with the kernels of each instruction set of this machine."""
    monkeypatch.setenv("BAYESPA_ISA", request.param)
    return request.param
