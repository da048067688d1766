import pytest

from bayespa import _native


def test_the_environment_variable_chooses_the_kernels(isa):
    assert _native.isa() == isa


def test_the_best_instruction_set_is_the_default(monkeypatch):
    monkeypatch.delenv("BAYESPA_ISA", raising=False)
    assert _native.isa() == _native.available_isas()[-1]
    assert _native.available_isas()[0] == "baseline"


def test_an_unknown_instruction_set_is_an_error_that_names_those_available(monkeypatch):
    monkeypatch.setenv("BAYESPA_ISA", "sse9")
    with pytest.raises(ValueError, match=r"BAYESPA_ISA=sse9 is not available .* one of: baseline"):
        _native.isa()
