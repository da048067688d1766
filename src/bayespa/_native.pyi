"""Types of the native core (native/bindings*.cpp): arrays are C-contiguous, results go to `out`."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayespa.native.medhdp import HdpTopics
from bayespa.native.medlda import Documents, Schedule, Statistics, Tasks, Topics

def available_isas() -> list[str]: ...
def isa() -> str: ...
def limit_threads(most: int) -> None: ...

# bindings_dual.cpp
def solve_dual(
    x: NDArray[np.float64],
    covariance: NDArray[np.float64],
    labels: NDArray[np.float32],
    margin: float,
    bound: float,
    regression: bool,
    tol: float,
    max_sweeps: int,
    mean: NDArray[np.float64],
    dual: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...

# bindings_elementary.cpp
def exp64(x: NDArray[np.float64], out: NDArray[np.float64], n_threads: int = 1) -> None: ...
def log64(x: NDArray[np.float64], out: NDArray[np.float64], n_threads: int = 1) -> None: ...
def digamma(x: NDArray[np.float64], out: NDArray[np.float64], n_threads: int = 1) -> None: ...
def exp_digamma(x: NDArray[np.float64], out: NDArray[np.float64], n_threads: int = 1) -> None: ...
def log_gamma(x: NDArray[np.float64], out: NDArray[np.float64], n_threads: int = 1) -> None: ...
def exp32(x: NDArray[np.float32], out: NDArray[np.float32], n_threads: int = 1) -> None: ...
def exp_digamma32(x: NDArray[np.float32], out: NDArray[np.float32], n_threads: int = 1) -> None: ...

# bindings_evidence.cpp
def evidence_of_classes(
    margin: NDArray[np.float64],
    right: NDArray[np.int64],
    temperatures: NDArray[np.float64],
    noises: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None: ...
def evidence_of_answers(
    margin: NDArray[np.float64],
    sign: NDArray[np.float64],
    temperatures: NDArray[np.float64],
    noises: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None: ...
def evidence_of_labels(
    margin: NDArray[np.float64],
    sign: NDArray[np.float64],
    temperatures: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None: ...

# bindings_json.cpp
def json_lines(block: bytes, names: Sequence[bytes]) -> list[tuple[Any, ...] | str] | None: ...

# bindings_linalg.cpp
def cholesky(
    matrices: NDArray[np.float64],
    factors: NDArray[np.float64],
    failed: NDArray[np.int64],
    n_threads: int = 1,
) -> None: ...
def log_determinant(factors: NDArray[np.float64], out: NDArray[np.float64], n_threads: int = 1) -> None: ...
def solve(factors: NDArray[np.float64], x: NDArray[np.float64], n_threads: int = 1) -> None: ...
def quadratic(
    factors: NDArray[np.float64],
    x: NDArray[np.float64],
    out: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...
def inverse(factors: NDArray[np.float64], out: NDArray[np.float64], n_threads: int = 1) -> None: ...
def moments(
    shift: NDArray[np.float64],
    precision: NDArray[np.float64],
    mean: NDArray[np.float64],
    covariance: NDArray[np.float64],
    failed: NDArray[np.int64],
    n_threads: int = 1,
) -> None: ...
def weighted_squares(
    x: NDArray[np.float64],
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...
def regression_sums(
    x: NDArray[np.float64],
    weights: NDArray[np.float64],
    values: NDArray[np.float64],
    shift: NDArray[np.float64],
    precision: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...
def add_rows(
    a: NDArray[np.float64],
    rows: NDArray[np.int64],
    part: NDArray[np.float64],
    sign: float,
    grid: float,
    ledger: NDArray[np.float64],
    turn: int,
) -> None: ...
def add_counts(
    a: NDArray[np.float64],
    rows: NDArray[np.int64],
    counts: NDArray[np.int32],
    weight: float,
    grid: float,
    ledger: NDArray[np.float64],
    turn: int,
) -> None: ...

# bindings_random.cpp
def philox(key: int, counters: NDArray[np.uint32], out: NDArray[np.uint32]) -> None: ...
def subkey(key: int, c0: int, c1: int, c2: int) -> int: ...
def uniform32(words: NDArray[np.uint32], out: NDArray[np.float32]) -> None: ...
def draw_uniform(
    key: int, addresses: NDArray[np.uint32], out: NDArray[np.float64], n_threads: int = 1
) -> None: ...
def draw_normal(
    key: int, addresses: NDArray[np.uint32], out: NDArray[np.float64], n_threads: int = 1
) -> None: ...
def draw_gamma(
    key: int,
    addresses: NDArray[np.uint32],
    shape: NDArray[np.float64],
    out: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...
def draw_log_gamma(
    key: int,
    addresses: NDArray[np.uint32],
    shape: NDArray[np.float64],
    out: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...
def draw_beta(
    key: int,
    addresses: NDArray[np.uint32],
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    out: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...
def draw_inverse_gaussian(
    key: int,
    addresses: NDArray[np.uint32],
    mean: NDArray[np.float64],
    shape: NDArray[np.float64],
    out: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...

# bindings_linear.cpp: `rows` and `targets` are read by the names of their attributes
class _Rows(Protocol):
    @property
    def indptr(self) -> NDArray[np.int64]: ...
    @property
    def indices(self) -> NDArray[np.int32]: ...
    @property
    def values(self) -> NDArray[np.float64]: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def bias(self) -> float: ...

class _Targets(Protocol):
    @property
    def labels(self) -> NDArray[np.int32] | None: ...
    @property
    def lower(self) -> NDArray[np.float64]: ...
    @property
    def upper(self) -> NDArray[np.float64]: ...
    @property
    def cost(self) -> NDArray[np.float64]: ...
    @property
    def n_tasks(self) -> int: ...
    @property
    def margin(self) -> float: ...

def decide(
    rows: _Rows, weights: NDArray[np.float64], out: NDArray[np.float64], n_threads: int = 1
) -> None: ...
def aggressive(
    rows: _Rows,
    targets: _Targets,
    order: NDArray[np.int64],
    aggressiveness: float,
    squared: bool,
    variance: float,
    weights: NDArray[np.float64],
    dual: NDArray[np.float64] | None,
    drift: NDArray[np.float64] | None,
    seen: int,
    loss: NDArray[np.float64],
    change: NDArray[np.float64],
    n_threads: int = 1,
    ledger: NDArray[np.float64] | None = None,
    turn: int = 0,
) -> None: ...
def gibbs_diagonal(
    rows: _Rows,
    targets: _Targets,
    cost: float,
    method: str,
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    objective: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...
def gibbs_isotropic(
    rows: _Rows,
    targets: _Targets,
    cost: float,
    method: str,
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    objective: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...
def gibbs_full(
    rows: _Rows,
    targets: _Targets,
    cost: float,
    method: str,
    mean: NDArray[np.float64],
    covariance: NDArray[np.float64],
    shift: NDArray[np.float64],
    precision: NDArray[np.float64],
    objective: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...
def tilt(
    m: NDArray[np.float64],
    s: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    cost: float,
    method: str,
    out: NDArray[np.float64],
) -> None: ...

# bindings_medhdp.cpp
def medhdp_step(
    documents: Documents,
    topics: HdpTopics,
    tasks: Tasks,
    schedule: Schedule,
    start: NDArray[np.uint32] | None,
    n_threads: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint32], dict[str, Any], dict[str, Any]]: ...

# bindings_medlda.cpp
def cut_documents(
    columns: NDArray[np.int32] | NDArray[np.int64],
    data: NDArray[np.int32],
    n_columns: int,
    begin: NDArray[np.int64],
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.int32],
    vocabulary: NDArray[np.int64],
) -> int: ...
def medlda_phi(
    dirichlet: NDArray[np.float32] | NDArray[np.float64],
    totals: NDArray[np.float64],
    words: NDArray[np.int64],
    mean: bool,
    out: NDArray[np.float32],
    n_threads: int,
) -> None: ...
def medlda_step(
    documents: Documents,
    topics: Topics,
    tasks: Tasks,
    schedule: Schedule,
    free: Statistics,
    labelled: Statistics,
    n_threads: int,
) -> None: ...

# bindings_text.cpp
class Characters:
    def __init__(self, properties: NDArray[np.int32], several: NDArray[np.uint32]) -> None: ...

class Texts:
    def __init__(self, texts: Sequence[str | bytes]) -> None: ...
    def __len__(self) -> int: ...
    @property
    def all_ascii(self) -> bool: ...

class TextVocabulary:
    def __init__(
        self,
        max_words: int,
        min_count: int,
        max_candidates: int,
        lowercase: bool,
        min_length: int,
        n_grams: int,
        min_run_count: int,
        max_runs: int,
        left_out: list[bytes],
        seed: int,
    ) -> None: ...
    def load(self, words: list[bytes], candidates: list[bytes], counts: list[int]) -> None: ...
    def know(self, characters: Characters) -> None: ...
    def learn(
        self, texts: Texts, n_threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], int]: ...
    def transform(
        self, texts: Texts, n_threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], int]: ...
    def sift(
        self, texts: Texts
    ) -> tuple[
        NDArray[np.int64],
        NDArray[np.int32],
        NDArray[np.int32],
        int,
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.uint8],
    ]: ...
    def learn_sifted(
        self, pieces: Sequence[tuple[object, ...]], places: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], int]: ...
    @property
    def n_words(self) -> int: ...
    @property
    def n_runs(self) -> int: ...
    @property
    def n_returns(self) -> int: ...
    def words(self, begin: int, end: int) -> list[str]: ...
    def candidates(self, mark: int = -1) -> tuple[int, list[str], list[int]]: ...
    def mark(self) -> int: ...
    def forget(self, mark: int) -> None: ...
    def back_to(self, mark: int) -> None: ...

# bindings_words.cpp
def features(
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.int32],
    seen: NDArray[np.float64],
    runs: NDArray[np.bool_] | None,
    run_value: float,
    values: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...
def learn_words(
    rows: _Rows,
    targets: _Targets,
    places: NDArray[np.int64],
    shift: NDArray[np.float64],
    precision: NDArray[np.float64],
    taught: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    cost: float,
    method: str,
    grid: float,
    guess: NDArray[np.float64],
    shift_change: NDArray[np.float64],
    precision_change: NDArray[np.float64],
    loss: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...
def decide_by_words(
    rows: _Rows,
    places: NDArray[np.int64],
    shift: NDArray[np.float64],
    precision: NDArray[np.float64],
    margin: NDArray[np.float64],
    n_threads: int = 1,
) -> None: ...
