"""How good are predictions, probabilities and topics, by what settings? See docs/quality.md."""
