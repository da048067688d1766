"""Run notebooks without Jupyter, and keep what they print and draw.

    python tools/notebooks.py examples/topics.ipynb ...

The cells of a notebook are plain Python; the value of a last expression is shown, and so are open figures.
tests/test_examples.py fails where a notebook shows another text than it prints.
"""

import ast
import base64
import io
import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")  # figures open no windows


def executed(notebook: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a notebook with the outputs that its cells have now; they may write to the current folder."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    _drawn()  # what others have left open is not of this notebook
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = _outputs("".join(cell["source"]), namespace, f"{name}, cell {count}", count)
            cell = {**cell, "execution_count": count, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, namespace: dict[str, Any], name: str, count: int) -> list[dict[str, Any]]:
    code = ast.parse(source, name)
    last = code.body.pop() if code.body and isinstance(code.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(code, name, "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = _lines(value._repr_html_())
        outputs.append(
            {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": count}
        )
    return outputs + _drawn()


def _drawn() -> list[dict[str, Any]]:
    """Return the open figures, and close them."""
    outputs: list[dict[str, Any]] = []
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        for number in pyplot.get_fignums():
            picture = io.BytesIO()
            pyplot.figure(number).savefig(picture, format="png", dpi=72)
            data = {"image/png": base64.b64encode(picture.getvalue()).decode()}
            outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
        pyplot.close("all")
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Run the notebooks that are named on the command line, each in its folder."""
    for path in [Path(name).resolve() for name in sys.argv[1:]]:
        os.chdir(path.parent)
        notebook = executed(json.loads(path.read_text(encoding="utf-8")), path.name)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
