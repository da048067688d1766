"""Readable NumPy twins of the native code: the same operations in the same order, so the same bits."""
