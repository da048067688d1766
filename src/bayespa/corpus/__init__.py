"""Documents and labels from files and streams, in bounded memory: `read`, `shuffle`, `batches`."""

from bayespa.corpus.bags import read_vocabulary
from bayespa.corpus.documents import Bag, Document, Label, Target
from bayespa.corpus.labels import ClassNames
from bayespa.corpus.problems import CorpusWarning, MalformedInput, Problem, Problems
from bayespa.corpus.reading import CountedBatch, Vectorizer, batches, read, shuffle
from bayespa.corpus.stop_words import topic_words
from bayespa.corpus.vectorizers import BagVectorizer, vectorizer_from_state, vectorizer_to_state
from bayespa.corpus.vocabulary import OnlineVocabulary
from bayespa.reference.text import Tokenizer

__all__ = [
    "Bag",
    "BagVectorizer",
    "ClassNames",
    "CorpusWarning",
    "CountedBatch",
    "Document",
    "Label",
    "MalformedInput",
    "OnlineVocabulary",
    "Problem",
    "Problems",
    "Target",
    "Tokenizer",
    "Vectorizer",
    "batches",
    "read",
    "read_vocabulary",
    "shuffle",
    "topic_words",
    "vectorizer_from_state",
    "vectorizer_to_state",
]
