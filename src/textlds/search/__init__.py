"""Search in context: where is this word used in this sense?

    index = OccurrenceIndex.build(model, ["corpus.txt"], "index")
    for found in index.find("bank", "He sat on the bank of the river."):
        print(found.score, found.marked())

senses      groups of occurrences that are used alike
sampling    which occurrences of which words are kept
texts       the texts they occur in, compressed
vectors     the vectors, in a file of faiss
building    all of it, from a corpus
index       questions
"""

from textlds.corpus.settings import IndexSettings
from textlds.search.index import Occurrence, OccurrenceIndex, Sense

__all__ = ["IndexSettings", "Occurrence", "OccurrenceIndex", "Sense"]
