import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

from bayespa.inspect import plots, report
from bayespa.inspect.calibration import reliability


def test_reliability_by_hand():
    probability = [[0.9, 0.1], [0.8, 0.2], [0.35, 0.65], [0.4, 0.6]]
    found = reliability([0, 1, 1, 1], probability, [0, 1], n_bins=2)
    np.testing.assert_array_equal(found.count, [0, 4])
    np.testing.assert_allclose(found.confidence, [np.nan, (0.9 + 0.8 + 0.65 + 0.6) / 4])
    np.testing.assert_allclose(found.accuracy, [np.nan, 3 / 4])
    assert found.error == pytest.approx(0.75 - 0.7375)


def test_a_calibrated_model_has_no_calibration_error():
    y = np.repeat([0, 1], [30, 70])
    assert reliability(y, np.tile([0.3, 0.7], (100, 1)), [0, 1]).error == pytest.approx(0)


def test_certainty_is_in_the_last_bin():
    assert reliability([0], [[1.0, 0.0]], [0, 1]).count[-1] == 1


@pytest.mark.parametrize(
    ("y", "probability"), [([], np.empty((0, 2))), ([0], [[0.2, 0.3, 0.5]]), ([0, 1], [[0.5, 0.5]])]
)
def test_shapes_that_do_not_fit_are_named(y, probability):
    with pytest.raises(ValueError, match=re.escape(f"probability {np.shape(probability)}")):
        reliability(y, probability, [0, 1])


def figures():
    groups = reliability([0, 1], [[0.9, 0.1], [0.6, 0.4]], [0, 1])
    return [
        plots.learning_curve([10, 20], [0.5, 0.75], {"chance": 0.5}),
        plots.reliability_diagram(groups),
        plots.confusion([[3, 1], [0, 0]], ["ham", "spam"]),
    ]


def test_figures_are_svg_and_the_same_each_time():
    first, second = figures(), figures()
    assert first == second
    for svg in first:
        assert ET.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert ">chance<" in first[0]
    assert ">spam<" in first[2]


def test_page_is_well_formed_and_escaped():
    hostile = "<script>alert('&')</script>"
    html = report.page(
        hostile,
        report.paragraph(hostile),
        report.facts({hostile: hostile}),
        report.section(hostile, report.table([hostile], [[hostile]]), report.figure("<svg></svg>", hostile)),
    )
    text = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            assert tag != "script"

        def handle_data(self, data):
            text.append(data)

    Reader().feed(html)
    assert "".join(text).count(hostile) == 9  # <title> and <h1> both carry the title
