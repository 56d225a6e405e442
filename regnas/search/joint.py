"""Search for all members of a family at once.

A candidate is a chain: one network per budget, each containing the one before. It has one reward over the whole chain,
from the mean accuracy of the members and the flips of all pairs. The worst pair counts twice, because a family must not
have one bad pair. Chains evolve as single networks do. A child changes one member of its parent, between the neighbors
of this member. Containment therefore holds by construction, and a child costs one evaluation. Random search draws whole
chains. A limit on flips holds for every pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from random import Random

from regnas.errors import BudgetInfeasible
from regnas.flips import Predictions, negative_flip_rate
from regnas.runtime.memory import freeze_collector
from regnas.runtime.progress import Bar
from regnas.runtime.randomness import Key, chooser
from regnas.runtime.signals import stop_if_asked
from regnas.search.algorithms import Evolution, RandomSearch
from regnas.search.algorithms.evolution import Mixed, Offspring
from regnas.search.evaluation.evaluator import Evaluator
from regnas.search.evaluation.prefixes import in_prefix_order
from regnas.search.feasibility import excess_over, standing
from regnas.search.rewards import Measures, Reward
from regnas.search.searching import best, best_feasible
from regnas.search.study import Study, Trial
from regnas.space import Architecture, Budget, BudgetSampler, SearchSpace

Chain = tuple[Architecture, ...]  # from the smallest to the largest
WORST = "worst pair"
MOST_TRIES = 100


def chain_measures(members: Mapping[str, Predictions], old: Mapping[str, Predictions] | None = None) -> Measures:
    """Return the mean Top-1 of the members and the NFR of every pair, including old models; the worst counts twice."""
    pairs = [*product((old or {}).items(), members.items()), *combinations(members.items(), 2)]
    flips = {f"{small} to {large}": negative_flip_rate(old, new) for (small, old), (large, new) in pairs}
    accuracy = sum(predictions.accuracy for predictions in members.values()) / len(members)
    return Measures(accuracy, flips | {WORST: max(flips.values(), default=0.0)})


def search_chains(
    space: SearchSpace,
    budgets: Mapping[str, Budget],
    reward: Reward,
    evaluator: Evaluator,
    study: Study,
    candidates: int,
    key: tuple[Key, ...],
    algorithm: Evolution | RandomSearch,
    max_nfr: float | None = None,
    old: Mapping[str, Predictions] | None = None,
) -> Chain:
    """Return the best chain after ``candidates`` evaluations per member; recorded ones count."""
    first = algorithm.generation_size
    if isinstance(algorithm, Evolution):
        # A chain of the first generation costs one evaluation per member, a later one only that of the changed member.
        total = max(first, candidates * len(budgets) - first * (len(budgets) - 1))
    else:
        total = candidates
    trials = study.trials()
    with Bar(f"search {key[-2]} {key[-1]}", total, len(trials)) as bar, freeze_collector():
        while len(trials) < total:
            begun = len(trials) - len(trials) % first
            generation = _generation(space, list(budgets.values()), trials[:begun], algorithm, chooser(*key, begun))
            remaining = generation[: total - begun][len(trials) - begun :]
            if not remaining:
                break
            members = in_prefix_order(list(dict.fromkeys(member for chain in remaining for member in chain)))
            predicted = dict(zip(members, evaluator.predict_each(members), strict=True))
            evaluated = []
            for chain in remaining:
                own = {name: predicted[member] for name, member in zip(budgets, chain, strict=True)}
                measures = chain_measures(own, old)
                excess = excess_over(max_nfr, measures)
                macs = space.cost(chain[-1]).macs
                evaluated.append(Trial(chain[-1], macs, measures, reward(measures), chain, excess))
            study.record(evaluated)
            trials += evaluated
            bar.advance(f"best {best(trials).reward:.4f}", len(evaluated))
            stop_if_asked()
    return best_feasible("the family", trials, max_nfr).chain


def _generation(
    space: SearchSpace,
    budgets: Sequence[Budget],
    told: Sequence[Trial],
    algorithm: Evolution | RandomSearch,
    random: Random,
) -> list[Chain]:
    parents = _parents(told, algorithm) if isinstance(algorithm, Evolution) else []
    known = {trial.chain for trial in told}
    found: dict[Chain, None] = {}
    misses = 0
    while len(found) < algorithm.generation_size and misses < MOST_TRIES:
        # The neighborhood of the best may be exhausted: after half of the allowed misses, draw from anywhere.
        if isinstance(algorithm, Evolution) and parents and misses < MOST_TRIES // 2:
            chain = _child(space, budgets, parents, algorithm, random)
        else:
            chain = _draw(space, budgets, random)
        if chain in known or chain in found:
            misses += 1
        else:
            found[chain] = None
            misses = 0
    return list(found)


def _parents(told: Sequence[Trial], evolution: Evolution) -> list[Chain]:
    ranked = sorted(told, key=lambda trial: (*standing(trial), [member.id for member in trial.chain]))
    return [trial.chain for trial in ranked[: evolution.parent_count]]


def _draw(space: SearchSpace, budgets: Sequence[Budget], random: Random) -> Chain:
    """Draw each member above the one before; if there is none above it, start again."""
    for _ in range(MOST_TRIES):
        chain: list[Architecture] = []
        try:
            for budget in budgets:
                above = space.above(chain[-1]) if chain else space
                chain.append(BudgetSampler(above, budget).sample(random))
            return tuple(chain)
        except BudgetInfeasible as error:
            reason = error
    raise reason


def _child(
    space: SearchSpace, budgets: Sequence[Budget], parents: Sequence[Chain], evolution: Evolution, random: Random
) -> Chain:
    parent = random.choice(parents)
    place = random.randrange(len(parent))
    if place > 0:
        space = space.above(parent[place - 1])
    if place + 1 < len(parent):
        space = space.below(parent[place + 1])
    offspring: Offspring
    if random.random() < evolution.mutated:
        offspring = evolution.mutated_at(space, parent[place], random)
    else:
        offspring = Mixed(parent[place], random.choice(parents)[place])
    child = BudgetSampler(offspring.space(space), budgets[place]).sample(random)
    return (*parent[:place], child, *parent[place + 1 :])
