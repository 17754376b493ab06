"""Documents as JSON: read back to the bit, and refused with a message when they are wrong."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import TURN, hills

import pcr99


@pytest.fixture(scope="module")
def solved(problem: pcr99.Problem) -> pcr99.Registration:
    return pcr99.solve(problem.source, problem.target)


def outcomes() -> list[pcr99.Registration]:
    """Results of every status, from matches and from clouds."""
    rng = np.random.default_rng(0)
    points = rng.random((400, 3))
    square = np.array([[x, y, 0.2 * x] for x in np.linspace(0, 3, 30) for y in np.linspace(0, 3, 30)])
    tiny = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2]]
    return [
        pcr99.solve(points, points @ TURN.T),
        pcr99.solve(points, np.vstack([points[:200] @ TURN.T, points[200:] + 3.0])),
        pcr99.solve(rng.random((60, 3)), rng.random((60, 3))),
        pcr99.solve(tiny, [[0, 0, 0], [5, 0, 0], [0, 90, 0], [7, 7, 700]]),
        pcr99.assess(points, points @ TURN.T, np.eye(4), threshold=0.01),
        pcr99.register(hills(1500, 1), hills(1500, 2)),
        pcr99.register(square, square @ TURN.T),
        pcr99.register(hills(600), rng.normal(size=(600, 3))),
    ]


def test_every_outcome_is_read_back_to_the_bit() -> None:
    seen = set()
    for r in outcomes():
        back = type(r).from_json(r.to_json())
        assert type(back) is type(r) and back == r and hash(back) == hash(r)
        assert back.to_json() == r.to_json() and dict(back.seconds) == dict(r.seconds)
        again = pickle.loads(pickle.dumps(r))
        assert type(again) is type(r) and again.to_json() == r.to_json()
        assert type(pcr99.Registration.from_json(r.to_json())) is type(r)
        assert (r.doubt is None) == (r.status == "registered") == bool(r)
        assert (r.transform is None) == (r.status == "no_solution")
        assert r.reason and r.to_dict()["schema"] == 2
        seen.add((r.to_dict()["kind"], r.status))
    assert {("matches", "registered"), ("matches", "not_reliable"), ("matches", "no_solution"), ("clouds", "registered")} <= seen


def test_attributes_are_the_fields_of_the_document() -> None:
    for r in outcomes():
        document = r.to_dict()
        for name, value in document.items():
            if name in ("schema", "program", "kind"):
                continue
            attribute = getattr(r, name)
            if name in ("evidence", "fit", "counters") and value is not None:
                assert list(value) == list(attribute._fields)
                limits = {None: -math.inf}
                assert [limits.get(v, v) for v in value.values()] == list(attribute)
            elif name == "accuracy" and value is not None:
                assert [value[field] for field in attribute._fields] == [
                    list(part) if isinstance(part, tuple) else part for part in attribute
                ]
                assert np.array_equal(r.covariance, value["covariance"]) and np.array_equal(r.information, value["information"])
                assert np.array_equal(r.information_center, value["center"])
            elif name == "clouds":
                assert {side: list(counts.values()) for side, counts in value.items()} == {s: list(c) for s, c in attribute.items()}
            elif name == "poses":
                for fields, each in zip(value, attribute):
                    assert np.array_equal(each.transform, fields["transform"]) and each.inlier_count == fields["inlier_count"]
                    assert list(each.fit) == list(fields["fit"].values()) and (each.relation is None) == (fields["relation"] is None)
            elif name == "free_motions":
                assert [motion.sentence for motion in attribute] == [fields["sentence"] for fields in value]
            elif name == "place":
                assert (None if attribute is None else list(attribute.at)) == (None if value is None else value["at"])
            elif name in ("candidates", "rival"):
                for fields, each in zip(value if name == "candidates" else [value], attribute if name == "candidates" else [attribute]):
                    if fields is not None:
                        assert np.array_equal(each.transform, fields["transform"]) and each.inlier_count == fields["inlier_count"]
                        assert all(hasattr(each, key) for key in fields)
            elif value is None:
                assert attribute is None, name
            elif isinstance(attribute, np.ndarray):
                assert np.array_equal(attribute, value), name
            else:
                assert (dict(attribute) if isinstance(value, dict) else attribute) == value, name


def test_a_symmetric_object_has_its_poses() -> None:
    random = np.random.default_rng(5)
    lengths = np.array([2.0, 1.2, 0.7])

    def brick() -> np.ndarray:
        points = random.random((20_000, 3)) * lengths
        # Each point goes to one of the six faces, in proportion to their areas.
        areas = lengths.prod() / lengths
        axis = random.choice(3, len(points), p=areas / areas.sum())
        points[np.arange(len(points)), axis] = np.where(random.random(len(points)) < 0.5, 0.0, lengths[axis])
        return points + 0.002 * random.standard_normal(points.shape)

    r = pcr99.register(brick() @ TURN.T, brick())
    assert not r and r.doubt == "ambiguous" and "4 poses fit equally well" in r.reason
    first, *others = r.poses
    assert first.relation is None and np.array_equal(first.transform, r.transform)
    turned = [np.asarray(pose.relation.axis) for pose in others if pose.relation is not None]
    assert np.allclose(sorted(np.abs(turned).round().tolist()), np.eye(3)[::-1])
    assert all(pose.relation is not None and abs(pose.relation.degrees - 180.0) < 1.0 for pose in others)
    assert pickle.loads(pickle.dumps(others[0])) == others[0] and repr(others[0]).startswith("<EquivalentPose: turned by 180")


def test_a_rival_is_named() -> None:
    points = np.random.default_rng(0).random((400, 3))
    r = pcr99.solve(points, np.vstack([points[:200] @ TURN.T, points[200:] + 3.0]))
    assert r.status == "not_reliable" and r.doubt == "ambiguous"
    assert r.rival is not None and r.rival.evidence is not None and r.evidence is not None
    assert 0.5 < r.rival.evidence_ratio <= 1.0 and r.rival.score_ratio is None and r.rival.fit is None
    assert r.rival.not_refuted_because is not None and r.rival.not_refuted_because.code and r.rival.not_refuted_because.sentence
    assert np.abs(r.rival.transform - r.transform).max() > 0.5
    assert pickle.loads(pickle.dumps(r.rival)) == r.rival and repr(r.rival).startswith("<Rival: 200 inliers")
    with pytest.raises(AttributeError):
        r.rival.evidence_ratio = 0.0


def without(*path: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for key in path[:-1]:
            document = document[key]
        del document[path[-1]]

    return change


def with_value(value: Any, *path: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_value(1, "schema"), "this document has schema 1; this version reads 2"),
        (with_value(3, "schema"), "this document has schema 3; this version reads 2"),
        (without("schema"), "schema"),
        (without("status"), "status"),
        (without("doubt"), "doubt"),
        (without("reason"), "reason"),
        (without("rival"), "rival"),
        (without("kind"), "kind"),
        (without("evidence", "inlier_places"), r"evidence.*inlier_places"),
        (without("candidates", 0, "transform"), r"candidates\[0\].*transform"),
        (with_value("fine", "status"), "status"),
        (with_value("planes", "kind"), "kind"),
        (with_value("many", "correspondences"), "correspondences"),
        (with_value([-1], "inliers"), "inliers"),
        (with_value([10**6], "inliers"), "inliers"),
        (with_value([[1, 2], [3, 4]], "transform"), "transform"),
        (with_value(None, "transform"), "transform"),
    ],
)
def test_wrong_documents_name_the_field(solved: pcr99.Registration, change: Callable[[dict[str, Any]], None], message: str) -> None:
    document = solved.to_dict()
    change(document)
    with pytest.raises(ValueError, match=message) as caught:
        pcr99.Registration.from_json(json.dumps(document))
    assert isinstance(caught.value, pcr99.InvalidInput)


def test_truncated_documents(solved: pcr99.Registration) -> None:
    text = solved.to_json()
    for end in range(0, len(text.rstrip()) - 1, 97):
        with pytest.raises(pcr99.InvalidInput):
            pcr99.Registration.from_json(text[:end])
    with pytest.raises(pcr99.InvalidInput, match="truncated"):
        pcr99.Registration.from_json(text[: len(text) // 2])
    for text in ("", "null", "[]", "{}", "3", "nonsense", "{" * 5000):
        with pytest.raises(pcr99.InvalidInput):
            pcr99.Registration.from_json(text)
    for wrong in (None, b"{}", 3):
        with pytest.raises(pcr99.InvalidType, match="`text` must be a string"):
            pcr99.Registration.from_json(wrong)  # type: ignore[arg-type]


def test_kinds(solved: pcr99.Registration, registered: pcr99.CloudRegistration) -> None:
    assert pcr99.CloudRegistration.from_json(registered.to_json()) == registered
    with pytest.raises(pcr99.InvalidInput, match="`kind` is `matches`"):
        pcr99.CloudRegistration.from_json(solved.to_json())


def test_damaged_pickles(solved: pcr99.Registration) -> None:
    function, (text,) = solved.__reduce__()
    with pytest.raises(pcr99.InvalidInput, match="schema 1"):
        function(text.replace('"schema": 2', '"schema": 1'))


def test_results_of_a_batch_are_documents(done: pcr99.BatchResult) -> None:
    ran = [row for row in done if row["status"] != "failed"]
    assert len(ran) == 8
    for row in ran:
        r = pcr99.Registration.from_json(json.dumps(row))
        assert (r.status, r.doubt, r.reason) == (row["status"], row["doubt"], row["reason"]) and dict(r.seconds) == {}
        assert r.inputs == row["inputs"]
