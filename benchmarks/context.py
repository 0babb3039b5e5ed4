"""How large prompts get over a long search, beside the rule of AIDE's memory on the same journal.

    python -m benchmarks.context [--steps 500] [--service anthropic|openai|none]

A real search with everything but the model's brain and the solution: calls go through a
provider's own SDK to a server on this machine, unless there is no service. The sandbox scores
noise, which the offline model's rules would take for findings, so the brain is scripted: it
answers at once, and as wordily as language models do, so that every section fills up. Sizes are
those of the book of calls, system and messages, at four characters a token.

AIDE's rule is that of its public code: each draft and improvement sees the plan, the results and
the metric of every node that works. For the results, in AIDE a model's two or three sentences, a
lesson of one line stands in, and instructions are not counted, so its sizes are rather too small.
The last line is a JSON object: the largest prompt of the last tenth of the steps over the largest
of an early tenth (450-500 over 20-70 of 500), by both rules, and the largest of ours in tokens.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from aide.api import search
from aide.calls import read_calls
from aide.folder import RunFolder
from aide.interfaces import Node, Request
from aide.llm.scripted import CHARS_PER_TOKEN, ScriptedModel
from aide.run import Run
from aide.values import lesson
from benchmarks import instant
from benchmarks.loopback import Loopback
from benchmarks.overhead import make_task

WORDS = (
    "boosted trees a linear model target encoding of rare categories the learning rate early "
    "stopping on a fold with fewer leaves scaled numbers ratios of columns missing values as "
    "their own level an average of seeds stratified folds because the errors are largest where "
    "rows are few and the variance between folds suggests it"
)
LINES = 90
"""Of a draft's program: with these, about 5 kB, as solutions have."""

SERVICES = ("anthropic", "openai")

Sizes = dict[int, int]
"""Step to the characters of its largest prompt."""


def make_brain() -> Callable[[Request], str]:
    """Answers as the instant benchmark's model does, but with long plans and drafts that differ.

    It goes by the prompt's text and by its own count alone, so that it can sit behind a server.
    """
    plain, numbers, words = instant.make_model(), itertools.count(), WORDS.split()

    def answer(request: Request) -> str:
        rng = random.Random(next(numbers))
        plan = " ".join(rng.choices(words, k=rng.randrange(40, 100)))
        names = ["_".join(rng.sample(words, 3)) for _ in range(LINES)]
        body = "\n".join(f"{name} = [{len(name)}, {rng.random()}]" for name in names)
        program = plain.complete(request).text.replace(instant.BODY, body)
        return f"{plan.capitalize()}.\n\n{program}"

    return answer


def make_model() -> ScriptedModel:
    return ScriptedModel(make_brain())


@contextmanager
def model_of(service: str) -> Iterator[str]:
    """The model's name: behind a provider's SDK and a server, or without either."""
    if service == "none":
        yield "benchmarks.context:make_model"
        return
    with Loopback(make_brain()) as loopback:
        url = loopback.anthropic_url if service == "anthropic" else loopback.openai_url
        yield f"{service}:brain@{url}"


def run_search(steps: int, model: str, folder: Path) -> Run:
    """A search of so many steps; the model is one that `aide run --model` takes."""
    return search(
        make_task(folder / "task"),
        metric="rmse",
        target="y",
        model=model,
        sandbox="benchmarks.instant:InstantSandbox",
        steps=steps,
        out=folder / "run",
    )


def sizes_of(run: Run) -> tuple[Sizes, Sizes]:
    """The sizes of all steps' prompts: those that were sent, and those by AIDE's rule."""
    ours: Sizes = {}
    system = 0
    for call in read_calls(RunFolder(run.path).calls):
        ours[call.node] = max(ours.get(call.node, 0), call.request.chars)
        system = len(call.request.system)
    return ours, _ancestors_sizes(run.nodes, system, run.task)


def _ancestors_sizes(nodes: Sequence[Node], system: int, task: Mapping[str, object]) -> Sizes:
    """System prompt, parents' code and the memory of all that works; a debug has no memory."""
    known, memory, sizes = dict[int, Node](), 0, Sizes()
    for node in nodes:
        parents = [known[parent] for parent in node.parents]
        code = sum(len(parent.code) for parent in parents)
        sizes[node.id] = system + code + (0 if node.operator == "debug" else memory)
        known[node.id] = node
        if node.score:
            metric, maximize = str(task["metric"]), bool(task["maximize"])
            results = lesson(node, parents, metric=metric, maximize=maximize)
            memory += len(f"{node.plan}\n{results}\n{node.score.value}\n")
    return sizes


def largest(sizes: Sizes, first: int, last: int) -> int:
    """The largest prompt of some steps, both ends included, in tokens, rounded up."""
    return -(-max(sizes.get(step, 0) for step in range(first, last + 1)) // CHARS_PER_TOKEN)


def figures(steps: int, ours: Sizes, ancestors: Sizes) -> dict[str, float]:
    tenth, start = steps // 10, max(1, steps // 25)
    early, late = (start, start + tenth), (steps - tenth, steps)
    return {
        "ratio": round(largest(ours, *late) / largest(ours, *early), 3),
        "max_tokens": largest(ours, 1, steps),
        "ancestor_ratio": round(largest(ancestors, *late) / largest(ancestors, *early), 3),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500, help="how many solutions, at least 10")
    parser.add_argument("--service", choices=[*SERVICES, "none"], default="anthropic")
    given = parser.parse_args(arguments)
    if given.steps < 10:
        parser.error(f"--steps is {given.steps}, but has to be at least 10")
    with tempfile.TemporaryDirectory() as scratch, model_of(given.service) as model:
        ours, ancestors = sizes_of(run_search(given.steps, model, Path(scratch)))
    print(f"{'steps':>11} {'tokens':>8} {'all good nodes':>15}")
    each = 50 if given.steps >= 100 else 10
    for first in range(1, given.steps + 1, each):
        last = min(first + each - 1, given.steps)
        row = largest(ours, first, last), largest(ancestors, first, last)
        print(f"{f'{first}-{last}':>11} {row[0]:>8,} {row[1]:>15,}")
    print(json.dumps(figures(given.steps, ours, ancestors)))


if __name__ == "__main__":
    main()
