"""Coverage-guided fuzzing of all that reads what others wrote: corpora and model files."""
