"""Models that read texts: learning a stream of documents, its history and scores, and model files."""
