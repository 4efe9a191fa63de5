"""What a model's vectors are worth on labelled data: tagging, named entities, similarity. Never needed to use a model.

data        labelled files as sentences with tags, pairs of words with scores
features    sentences to token vectors, whoever makes them
local       a small classifier that sees one token's vector and nothing else
crf         a lexicalised tagger, with or without vectors
measures    accuracies, F1, Spearman's rank correlation, and whether a difference is chance
tagging, ner, similarity      the three studies, behind ``textlds evaluate``
"""
