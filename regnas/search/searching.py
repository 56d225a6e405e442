"""Search for one member of a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from regnas.components.rate import format_rate
from regnas.errors import BudgetInfeasible, FlipLimitInfeasible
from regnas.flips import Predictions, negative_flip_rate
from regnas.runtime.memory import freeze_collector
from regnas.runtime.progress import Bar
from regnas.runtime.randomness import Key, chooser
from regnas.runtime.signals import stop_if_asked
from regnas.search.algorithms import SearchAlgorithm
from regnas.search.evaluation.evaluator import Evaluator
from regnas.search.evaluation.prefixes import in_prefix_order
from regnas.search.feasibility import excess_over, standing
from regnas.search.rewards import Measures, Reward
from regnas.search.study import Study, Trial
from regnas.space import Architecture, Budget, BudgetSampler, SearchSpace


@dataclass(frozen=True)
class Tier:
    """One search: its space, its budget, its reward, the other members of the family, and the limit on flips.

    ``smaller`` has the references of a candidate: smaller members, and old models.
    """

    name: str
    space: SearchSpace
    budget: Budget
    reward: Reward
    smaller: Mapping[str, Predictions] = field(default_factory=dict)
    larger: Mapping[str, Predictions] = field(default_factory=dict)
    max_nfr: float | None = None  # against each of them; None: no limit

    def measure(self, predictions: Predictions) -> Measures:
        """Measure flips from every smaller member to the candidate, and from the candidate to every larger one."""
        flips = {name: negative_flip_rate(member, predictions) for name, member in self.smaller.items()}
        flips |= {name: negative_flip_rate(predictions, member) for name, member in self.larger.items()}
        return Measures(predictions.accuracy, flips)

    def trial(self, architecture: Architecture, predictions: Predictions) -> Trial:
        """Return the trial of a candidate: its measures, reward and excess over the limit."""
        measures = self.measure(predictions)
        excess = excess_over(self.max_nfr, measures)
        macs = self.space.cost(architecture).macs
        return Trial(architecture, macs, measures, self.reward(measures), excess=excess)


def search(
    tier: Tier, algorithm: SearchAlgorithm, evaluator: Evaluator, study: Study, candidates: int, key: tuple[Key, ...]
) -> list[Trial]:
    """Evaluate ``candidates`` architectures, or all if the budget holds fewer; recorded ones count."""
    BudgetSampler(tier.space, tier.budget).require_any(f"search for {tier.name}")
    trials = study.trials()
    description = f"search {' '.join(str(part) for part in key[-2:])}"
    with Bar(description, candidates, len(trials)) as bar, freeze_collector():
        while len(trials) < candidates:
            # Ask for the current generation again, from the candidates that were known at its start: a search that was
            # interrupted within a generation continues with the same candidates.
            begun = len(trials) - len(trials) % algorithm.generation_size
            generation = algorithm.ask(tier.space, tier.budget, trials[:begun], chooser(*key, begun))
            remaining = in_prefix_order(generation[: candidates - begun])[len(trials) - begun :]
            if not remaining:
                break
            for group in evaluator.predict_groups(remaining):
                evaluated = [tier.trial(architecture, predictions) for architecture, predictions in group.items()]
                study.record(evaluated)
                trials += evaluated
                bar.advance(f"best {best(trials).reward:.4f}", len(evaluated))
            stop_if_asked()
    return trials


def best(trials: Sequence[Trial]) -> Trial:
    """Choose the best by constraint domination; of equal ones, the cheaper network, then the smaller id."""
    if not trials:
        raise BudgetInfeasible("no candidate was evaluated")
    return min(trials, key=lambda trial: (*standing(trial), trial.macs, trial.architecture.id))


def best_feasible(name: str, trials: Sequence[Trial], max_nfr: float | None) -> Trial:
    """Choose the best, which must meet the limit on flips; ``name`` is the member of the search."""
    chosen = best(trials)
    if max_nfr is None or chosen.violation == 0:
        return chosen
    nfr = chosen.measures.nfr
    worst = max(nfr, key=lambda reference: nfr[reference])
    where = f"from {worst}" if chosen.chain else f"against {worst}"
    raise FlipLimitInfeasible(
        f"search for {name}: the NFR must be at most {format_rate(max_nfr)} (search.max_nfr), got "
        f"{format_rate(nfr[worst])} {where} at best, with Top-1 {format_rate(chosen.measures.top1)}, in {len(trials)} "
        "candidates. Raise search.max_nfr or search.candidates, or train the members to agree with a lesson from the "
        'teacher "mean" in [curriculum.lessons].'
    )
