"""Pictures of two clouds for notebooks: one small SVG without scripts, which stays in the saved notebook."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._arrays import Floats

#: Number of points of each cloud in a picture. More would make a saved notebook large without showing more.
_POINTS = 1500

#: Edge of each view in pixels.
_EDGE = 260.0

#: Colours of the source and of the target.
_COLORS = ("#d55e00", "#0072b2")

#: Views: title, the axis to the right, and the axis up.
_VIEWS: Sequence[tuple[str, int, int]] = (("from above", 0, 1), ("from the front", 0, 2))


def sample(points: Floats, most: int) -> Floats:
    """Thins points evenly over their order, and leaves out those that are not finite."""
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) <= most:
        return points
    rows = np.linspace(0, len(points) - 1, most).astype(np.int64)
    return points[rows]


def picture(source: Floats, target: Floats) -> str:
    """Draws the source over the target from above and from the front; an empty text if there is nothing to draw."""
    clouds = sample(source, _POINTS), sample(target, _POINTS)
    if min(map(len, clouds)) == 0:
        return ""
    everything = np.concatenate(clouds)
    # Some strays do not shrink the view.
    low, high = np.percentile(everything, [0.5, 99.5], axis=0)
    center, extent = (low + high) / 2.0, float((high - low).max())
    extent = 1.1 * extent if extent > 0.0 else 1.0
    views = "".join(_view(clouds, center, extent, index) for index in range(len(_VIEWS)))
    width = _EDGE * len(_VIEWS)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" height="{_EDGE + 20:.0f}" '
        f'viewBox="0 0 {width:.0f} {_EDGE + 20:.0f}"><title>source (orange), moved onto the target (blue)</title>{views}</svg>'
    )


def _view(clouds: tuple[Floats, Floats], center: Floats, extent: float, index: int) -> str:
    title, right, up = _VIEWS[index]
    paths = ""
    # The target first: the source lies over it.
    for points, color in reversed(tuple(zip(clouds, _COLORS))):
        x = _EDGE * (0.5 + (points[:, right] - center[right]) / extent)
        y = _EDGE * (0.5 - (points[:, up] - center[up]) / extent)
        inside = (x >= 0.0) & (x <= _EDGE) & (y >= 0.0) & (y <= _EDGE)
        dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x[inside], y[inside]))
        paths += f'<path d="{dots}" stroke="{color}" stroke-width="2" stroke-linecap="round" opacity="0.6" fill="none"/>'
    label = f'<text x="4" y="{_EDGE + 14:.0f}" font-size="12" font-family="sans-serif" fill="#767676">{title}</text>'
    return f'<g transform="translate({index * _EDGE:.0f} 0)">{paths}{label}</g>'
