"""The orders in which a family is found, and members that are added later."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise

import pytest

from regnas.flips import negative_flip_rate
from regnas.search import ALGORITHMS, REWARDS, Evolution, FamilySearch, Study, sqlite_storage
from regnas.search.joint import WORST, chain_measures
from regnas.space import Budget, contains
from tests.flips.helpers import answers

BUDGETS = {"small": Budget(76_000, 84_000), "medium": Budget(114_000, 126_000), "large": Budget(190_000, 210_000)}


@pytest.fixture
def family_search(tmp_path, space, evaluator):
    return FamilySearch(
        space=space,
        budgets=BUDGETS,
        reward=REWARDS["R2"](),
        order="smallest_first",
        algorithm=Evolution(population=4),
        candidates=9,
        evaluator=evaluator,
        open_study=partial(_study, sqlite_storage(tmp_path / "study.db"), space),
        key=(0,),
    )


def _study(storage, space, name):
    return Study(storage, name, space)


@pytest.mark.parametrize("order", ["smallest_first", "joint", "front"])
def test_every_order_gives_a_chain_of_containment_inside_the_budgets(family_search, space, order):
    members = replace(family_search, order=order).family()
    assert list(members) == list(BUDGETS)
    assert all(space.cost(members[name]) in BUDGETS[name] for name in BUDGETS)
    assert all(contains(large, small) for small, large in pairwise(members.values()))


@pytest.mark.parametrize("order", ["joint", "front"])
def test_a_family_is_found_again_from_the_record_alone(family_search, order):
    first = replace(family_search, order=order).family()

    class NoMore:
        def predict_each(self, architectures):
            return family_search.evaluator.predict_each(architectures)

        predict = family_search.evaluator.predict

    assert replace(family_search, order=order, evaluator=NoMore()).family() == first


def test_the_joint_reward_is_the_mean_accuracy_less_the_flips_with_the_worst_pair_once_more():
    small, medium, large = answers("1110"), answers("1100"), answers("1011")
    measures = chain_measures({"small": small, "medium": medium, "large": large})
    assert measures.top1 == pytest.approx((3 + 2 + 3) / 12)
    assert measures.nfr == pytest.approx(
        {"small to medium": 1 / 4, "small to large": 1 / 4, "medium to large": 1 / 4, WORST: 1 / 4}
    )
    better = chain_measures({"small": small, "medium": small, "large": large})
    assert better.nfr == pytest.approx(
        {"small to medium": 0, "small to large": 1 / 4, "medium to large": 1 / 4, WORST: 1 / 4}
    )
    assert better.mean_nfr == pytest.approx(3 / 16)


def test_the_best_chain_on_record_is_the_family(family_search, evaluator):
    members = replace(family_search, order="joint").family()
    trials = family_search.open_study("family/joint").trials()
    assert len(trials) == 9 * 3 - 4 * 2  # as many evaluations as one search a member: four chains cost three each
    assert len({trial.chain for trial in trials}) == len(trials)
    chosen = max(trials, key=lambda trial: trial.reward)
    assert chosen.chain == tuple(members.values())
    predicted = [evaluator.predict(member) for member in chosen.chain]
    flips = [negative_flip_rate(old, new) for old, new in combinations(predicted, 2)]
    expected = sum(own.accuracy for own in predicted) / 3 - (sum(flips) + max(flips)) / 4
    assert chosen.reward == pytest.approx(expected)
    for trial in trials:
        assert all(contains(large, small) for small, large in pairwise(trial.chain))


def test_in_the_joint_order_a_child_changes_one_member(family_search):
    replace(family_search, order="joint").family()
    trials = family_search.open_study("family/joint").trials()
    first = [trial.chain for trial in trials[:4]]
    for trial in trials[4:8]:
        assert min(sum(a != b for a, b in zip(trial.chain, parent, strict=True)) for parent in first) == 1


def test_every_budget_is_read_from_one_front(family_search, space):
    members = replace(family_search, order="front", algorithm=ALGORITHMS["nsga2"](population=6)).family()
    run = family_search.open_study("family/front").trials()
    assert len(run) == 9 * 2
    assert all(contains(trial.architecture, members["small"]) for trial in run)
    assert all(114_000 <= trial.macs <= 210_000 for trial in run)
    fitting = [trial for trial in run if space.cost(trial.architecture) in BUDGETS["medium"]]
    if fitting:  # the reward of the medium member has the small one as its only reference, as the run had
        assert members["medium"] in [trial.architecture for trial in fitting]
        best = max(trial.reward for trial in fitting)
        assert best in [trial.reward for trial in fitting if trial.architecture == members["medium"]]


def test_an_added_member_is_between_its_neighbors(family_search, space, evaluator):
    members = family_search.family()
    between = Budget(BUDGETS["medium"].max_macs + 1, BUDGETS["large"].min_macs - 1)
    budgets = {"small": BUDGETS["small"], "medium": BUDGETS["medium"], "tablet": between}
    search = replace(family_search, budgets=budgets | {"large": BUDGETS["large"]})
    extended = search.add(members, "tablet")
    assert list(extended) == ["small", "medium", "tablet", "large"]
    assert {name: extended[name] for name in members} == members
    assert contains(extended["tablet"], extended["medium"])
    assert contains(extended["large"], extended["tablet"])
    assert space.cost(extended["tablet"]) in budgets["tablet"]
    trials = search.open_study("family/tablet").trials()
    for trial in trials:
        own = evaluator.predict(trial.architecture)
        flips = [negative_flip_rate(evaluator.predict(members[name]), own) for name in ("small", "medium")]
        flips.append(negative_flip_rate(own, evaluator.predict(members["large"])))
        assert list(trial.measures.nfr) == ["small", "medium", "large"]
        assert trial.measures.mean_nfr == pytest.approx(sum(flips) / 3)


def test_with_a_joint_family_the_accuracy_only_search_finds_its_own_smallest(family_search, evaluator):
    search = replace(family_search, order="joint")
    family = search.family()
    other = search.accuracy_only(family["small"])
    trials = search.open_study("accuracy_only/small").trials()
    assert evaluator.predict(other["small"]).accuracy == max(trial.measures.top1 for trial in trials)
