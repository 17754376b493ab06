"""Views of results and clouds in Matplotlib or Open3D, whichever is installed.

>>> import pcr99.viz
>>> problem = pcr99.simulate(outliers=0.9, seed=1)
>>> r = pcr99.solve(problem.source, problem.target)
>>> figure = pcr99.viz.show(r, block=False)  # doctest: +SKIP

``Registration.save_page`` needs neither: it writes a page for the browser.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Optional

from ._arrays import Floats, as_whole
from ._clouds import CloudLike
from ._errors import InvalidInput, InvalidType, MissingPackage
from ._inline import sample
from ._registration import Registration

__all__ = ["show"]

#: Colours of the source and of the target: orange and blue, which people who are colour-blind can tell apart.
_COLORS = ((0.84, 0.37, 0.0), (0.0, 0.45, 0.70))

#: Viewers, in the order in which they are tried.
_VIEWERS = ("matplotlib", "open3d")


def show(
    result: Registration,
    source: Optional[CloudLike] = None,
    target: Optional[CloudLike] = None,
    *,
    viewer: Optional[str] = None,
    points: int = 20_000,
    block: bool = True,
) -> Any:
    """Shows the source, moved by the result, over the target.

    Parameters
    ----------
    result
        The result. One without a transform shows the source where it is.
    source, target
        The points. By default those that the result was made from; a result that was pickled or read from JSON needs them.
    viewer
        ``"matplotlib"`` or ``"open3d"``; by default the first that is installed.
    points
        Maximum number of points of each cloud. Larger clouds are thinned evenly.
    block
        Whether to wait until the window is closed. With Matplotlib, ``False`` only makes the figure.

    Returns
    -------
    object
        The Matplotlib figure, or the list of Open3D clouds.
    """
    if not isinstance(result, Registration):
        raise InvalidType(f"`result` must be a result of pcr99, not {type(result).__name__}")
    most = as_whole("points", points, 1)
    name = _viewer(viewer)
    clouds = result._points_in_target(source, target)
    thinned = sample(clouds[0], most), sample(clouds[1], most)
    return _VIEWS[name](thinned, result, block)


def _viewer(name: Optional[str]) -> str:
    if name is not None and name not in _VIEWERS:
        raise InvalidInput(f"`viewer` must be one of {', '.join(map(repr, _VIEWERS))}, got {name!r}")
    for viewer in _VIEWERS if name is None else (name,):
        if importlib.util.find_spec(viewer) is not None:
            return viewer
    wanted = "Matplotlib or Open3D" if name is None else name
    raise MissingPackage(f"pcr99.viz needs {wanted}: pip install {name or 'matplotlib'}, or use save_page, which needs neither")


def _matplotlib(clouds: tuple[Floats, Floats], result: Registration, block: bool) -> Any:
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure = pyplot.figure(figsize=(8, 6))
    axes = figure.add_subplot(projection="3d")
    for points, color, name in zip(clouds, _COLORS, ("source, moved", "target")):
        axes.scatter(*points.T, s=1.0, color=color, label=name, depthshade=False)
    axes.set_aspect("equal")
    axes.set_title(result.status.replace("_", " "))
    axes.legend(loc="upper right", markerscale=6)
    if block:
        pyplot.show()
    return figure


def _open3d(clouds: tuple[Floats, Floats], result: Registration, block: bool) -> Any:
    open3d = importlib.import_module("open3d")
    shown = []
    for points, color in zip(clouds, _COLORS):
        cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
        cloud.paint_uniform_color(color)
        shown.append(cloud)
    if block:
        open3d.visualization.draw_geometries(shown, window_name=f"pcr99: {result.status.replace('_', ' ')}")
    return shown


_VIEWS = {"matplotlib": _matplotlib, "open3d": _open3d}
