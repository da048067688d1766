"""Studies behind the defaults."""
