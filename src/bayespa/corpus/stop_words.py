"""Which words topics use. Decisions use all words, but people read topics."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

# scikit-learn's list, as a test checks. To import it takes longer than to load a model and predict.
_ENGLISH = """
a about above across after afterwards again against all almost alone along already also although always am
among amongst amoungst amount an and another any anyhow anyone anything anyway anywhere are around as at back
be became because become becomes becoming been before beforehand behind being below beside besides between
beyond bill both bottom but by call can cannot cant co con could couldnt cry de describe detail do done down
due during each eg eight either eleven else elsewhere empty enough etc even ever every everyone everything
everywhere except few fifteen fifty fill find fire first five for former formerly forty found four from front
full further get give go had has hasnt have he hence her here hereafter hereby herein hereupon hers herself
him himself his how however hundred i ie if in inc indeed interest into is it its itself keep last latter
latterly least less ltd made many may me meanwhile might mill mine more moreover most mostly move much must my
myself name namely neither never nevertheless next nine no nobody none noone nor not nothing now nowhere of
off often on once one only onto or other others otherwise our ours ourselves out over own part per perhaps
please put rather re same see seem seemed seeming seems serious several she should show side since sincere six
sixty so some somehow someone something sometime sometimes somewhere still such system take ten than that the
their them themselves then thence there thereafter thereby therefore therein thereupon these they thick thin
third this those though three through throughout thru thus to together too top toward towards twelve twenty
two un under until up upon us very via was we well were what whatever when whence whenever where whereafter
whereas whereby wherein whereupon wherever whether which while whither who whoever whole whom whose why will
with within without would yet you your yours yourself yourselves
"""
ENGLISH_STOP_WORDS = frozenset(_ENGLISH.split())


def topic_words(
    words: Iterable[str], stop_words: str | Collection[str] | None = "english"
) -> NDArray[np.bool_]:
    """Return, for each word, whether topics use it.

    Topics leave out stop words, numbers, single letters, and codes with more digits than letters.

    Parameters
    ----------
    words : iterable of n str
    stop_words : "english" or collection of str, optional
        "english" is scikit-learn's list.

    Returns
    -------
    array of bool of shape (n,)

    Examples
    --------
    >>> topic_words(["who", "wrote", "1984", "in", "mp3", "x"]).tolist()
    [False, True, False, False, True, False]
    """
    left_out = ENGLISH_STOP_WORDS if isinstance(stop_words, str) else frozenset(stop_words or ())
    return np.array([word not in left_out and _spells(word) for word in words], np.bool_)


def _spells(word: str) -> bool:
    """Return whether a word has two letters or more, and no more digits than letters."""
    if word.isalpha():
        return len(word) > 1
    letters = sum(map(str.isalpha, word))
    return letters > 1 and 2 * letters >= len(word)
