"""A fitted model of text: embeddings, scores, neighbours."""
