"""Draws panels of lines on logarithmic axes as one SVG, with nothing but the standard library.

On such axes what grows in proportion is a straight line that rises one decade for each decade to
the right; a thin grey line shows that slope in every panel.
"""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 352, 300, 62, 44, 114, 46
COLOURS = ["#0969da", "#cf222e", "#1a7f37", "#8250df", "#bf8700", "#57606a"]


def decades(values):
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def number(value):
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def panel(left, title, across, lines):
    """One panel as SVG; `lines` has for each name its points (x, milliseconds)."""
    every = [point for points in lines.values() for point in points]
    x0, x1 = decades([x for x, _ in every])
    y0, y1 = decades([y for _, y in every])
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def at(x, y):
        return (left + LEFT + (math.log10(x) - x0) / (x1 - x0) * width,
                TOP + height - (math.log10(y) - y0) / (y1 - y0) * height)

    parts = [f'<text x="{left + LEFT}" y="22" class="title">{escape(title)}</text>']
    for decade in range(x0, x1 + 1):
        x, y = at(10 ** decade, 10 ** y0)
        parts.append(f'<path d="M{x:.1f} {y:.1f}V{TOP}" class="grid"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" class="tick" text-anchor="middle">'
                     f"{number(10 ** decade)}</text>")
    for decade in range(y0, y1 + 1):
        x, y = at(10 ** x0, 10 ** decade)
        parts.append(f'<path d="M{x:.1f} {y:.1f}h{width}" class="grid"/>')
        parts.append(f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" class="tick" text-anchor="end">'
                     f"{number(10 ** decade)}</text>")
    rise = min(x1 - x0, y1 - y0)
    (ax, ay), (bx, by) = at(10 ** x0, 10 ** y0), at(10 ** (x0 + rise), 10 ** (y0 + rise))
    parts.append(f'<path d="M{ax:.1f} {ay:.1f}L{bx:.1f} {by:.1f}" class="slope"/>')
    ends = []
    for (name, points), colour in zip(lines.items(), COLOURS):
        places = [at(x, y) for x, y in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in places]
        ends.append([places[-1][1], places[-1][0], name, colour])
    ends.sort()
    for before, end in zip(ends, ends[1:]):  # names do not lie on each other
        end[0] = max(end[0], before[0] + 13)
    for y, x, name, colour in ends:
        parts.append(f'<text x="{x + 6:.1f}" y="{y + 4:.1f}" fill="{colour}">{escape(name)}</text>')
    parts.append(f'<text x="{left + LEFT + width / 2:.1f}" y="{HEIGHT - 8}" class="axis" '
                 f'text-anchor="middle">{escape(across)}</text>')
    return parts


def draw(file, panels):
    """Writes an SVG of these panels (title, what is across, lines) beside each other."""
    whole = WIDTH * len(panels)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{HEIGHT}" '
        f'viewBox="0 0 {whole} {HEIGHT}" font-family="sans-serif" font-size="11">',
        "<style>.grid{stroke:#d0d7de;stroke-width:.6}.slope{stroke:#afb8c1;stroke-dasharray:3 3}"
        ".title{font-size:13px;font-weight:600}.tick,.axis{fill:#57606a}</style>",
        f'<rect width="{whole}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="8" y="{TOP - 8}" class="axis">ms</text>',
    ]
    for place, (title, across, lines) in enumerate(panels):
        out += panel(place * WIDTH, title, across, lines)
    out.append("</svg>")
    file.write_text("\n".join(out) + "\n")
