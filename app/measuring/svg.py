# SPDX-License-Identifier: BSD-3-Clause
"""Elements of charts in SVG."""
import math
from xml.sax.saxutils import escape

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f; }
.title { font-size: 15px; font-weight: 600; } .name { font-weight: 600; } .small { font-size: 11px; }
.muted { fill: #57606a; } .grid { stroke: #d0d7de; } .axis { stroke: #57606a; }
.floor { fill: #9fb3c8; } .overhead { fill: #d9662b; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .muted { fill: #9198a1; } .grid { stroke: #3d444d; } .axis { stroke: #9198a1; }
  .floor { fill: #52667a; } .overhead { fill: #f0883e; }
}
"""


def text(x, y, content, classes="", anchor="middle"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{classes}">{escape(str(content))}</text>'


def line(x1, y1, x2, y2, classes):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{classes}"/>'


def box(x, y, width, height, classes):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{classes}"/>'


def step_of(most):
    """A round step that gives four to eight lines."""
    step = 10 ** math.floor(math.log10(most / 4))
    return next(step * k for k in (1, 2, 5, 10) if most / (step * k) <= 6)


def document(width, height, style, parts):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<style>{style}</style>", *parts, "</svg>"])
