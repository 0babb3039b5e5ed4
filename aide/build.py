"""The composition root: a configuration becomes a run. The one place that knows all parts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aide.budget import HOUR, Budget
from aide.clock import Clock
from aide.config import Config, read_config
from aide.errors import RunFolderError
from aide.folder import RunFolder, new_folder, write_atomic
from aide.history import History
from aide.interfaces import Limits, OnEvent, Policy, Sandbox, Scratch, Task
from aide.journal import VERSION, Journal, read_events
from aide.models import Models, Named, make_models
from aide.operators import OPERATORS
from aide.operators.check import normalised_hash
from aide.operators.summarize import advise
from aide.parts import Parts, Settings
from aide.policies import POLICIES
from aide.registry import find
from aide.replay import replay
from aide.sandboxing import open_sandbox
from aide.scratch import ScratchPad
from aide.session import Session
from aide.tasks.load import is_folder, load

if TYPE_CHECKING:
    from distributed import Client

RUNS = Path("runs")


@contextlib.contextmanager
def new_session(
    config: Config,
    on_event: OnEvent,
    clock: Clock | None = None,
    client: Client | None = None,
) -> Iterator[Session]:
    """A session of a new run in a new folder.

    Args:
        config: the run's settings.
        on_event: told of what happens.
        clock: the machine's own by default.
        client: a Dask client whose workers are to run the solutions.

    Raises:
        InputError: something that the configuration names cannot be used.
    """
    task = load_task(config)
    named, policy = make_models(config), make_policy(config)
    with contextlib.ExitStack() as stack:
        sandbox = stack.enter_context(open_sandbox(config, named.offline, client))
        folder = RunFolder(config.out or new_folder(RUNS, task.info.name))
        folder.create()
        stack.enter_context(folder.writing())
        # Once more, since another process may have begun one before we had the lock.
        folder.check_new()
        history = stack.enter_context(contextlib.closing(History(folder.solutions)))
        kept = config.model_copy(update={"out": None, "task": _absolute(config.task)})
        write_atomic(folder.config, kept.to_toml())
        journal = stack.enter_context(Journal(folder.journal))
        start = _start_event(task, named, sandbox, config)
        journal.append(start)
        models = stack.enter_context(_models(named, config, folder, clock, on_event))
        parts = _parts(
            config, folder, task, models, sandbox, journal, history, on_event, clock, 0.0
        )
        on_event({"event": "start", "run": str(folder.path), "sandbox": sandbox.about, **start})
        yield Session(parts, replay([start]), policy)


@contextlib.contextmanager
def resumed_session(
    path: Path,
    on_event: OnEvent,
    *,
    changes: Mapping[str, Any],
    clock: Clock | None = None,
    client: Client | None = None,
) -> Iterator[Session]:
    """A session that goes on with a run.

    Args:
        path: the run's folder.
        on_event: told of what happens.
        changes: settings that differ from those of the run's start, such as more steps.
        clock: the machine's own by default.
        client: a Dask client whose workers are to run the solutions.

    Raises:
        RunFolderError: there is no run that can go on: no journal, damage, another writer, or
            data that are no longer those of the run.
    """
    folder = RunFolder(path)
    folder.check()
    with contextlib.ExitStack() as stack:
        stack.enter_context(folder.writing())
        state = replay(read_events(folder.journal))
        config = read_config(folder.config, changes)
        task = load_task(config)
        if task.fingerprint != state.start["task"]["fingerprint"]:
            raise RunFolderError(
                f"the data of task {task.info.name!r} are no longer those that {folder.path} was "
                "started on, so scores could not be compared; put them back, or start a new run"
            )
        named, policy = make_models(config), make_policy(config)
        sandbox = stack.enter_context(open_sandbox(config, named.offline, client))
        history = stack.enter_context(contextlib.closing(History(folder.solutions)))
        write_atomic(folder.config, config.to_toml())
        journal = stack.enter_context(Journal(folder.journal))
        models = stack.enter_context(_models(named, config, folder, clock, on_event))
        spent = state.elapsed
        parts = _parts(
            config, folder, task, models, sandbox, journal, history, on_event, clock, spent
        )
        parts.write({"event": "resume", "at": _now(), "changes": dict(changes)})
        on_event({"event": "resume", "run": str(folder.path), "sandbox": sandbox.about})
        yield Session(parts, state, policy)


def load_task(config: Config) -> Task:
    return load(
        config.task,
        goal=config.goal,
        metric=config.metric,
        target=config.target,
        id=config.id,
        group=config.group,
        time=config.time,
        split=config.split,
    )


def make_policy(config: Config) -> Policy:
    policy: Policy = find("policy", config.policy, POLICIES)(
        drafts=config.drafts,
        debug_prob=config.debug_prob,
        max_debug_depth=config.max_debug_depth,
        merge_prob=config.merge_prob,
        seed=config.seed,
    )
    return policy


@contextlib.contextmanager
def _models(
    named: Named, config: Config, folder: RunFolder, clock: Clock | None, on_event: OnEvent
) -> Iterator[Models]:
    """The models at work, with the run's book of calls open."""

    def wait(reason: str, seconds: float) -> None:
        on_event({"event": "waiting", "reason": reason, "seconds": seconds})

    with Journal(folder.calls, sync=False) as book:
        yield Models(named, config, book, folder, clock or Clock(), wait)


def _parts(
    config: Config,
    folder: RunFolder,
    task: Task,
    models: Models,
    sandbox: Sandbox,
    journal: Journal,
    history: History,
    on_event: OnEvent,
    clock: Clock | None,
    spent: float,
) -> Parts:
    limits = _limits(config, task)
    pad = ScratchPad(sandbox, task, limits, runs=config.scratch, folder=folder.nodes)

    def cancel() -> None:
        models.cancel()
        pad.cancel()

    return Parts(
        folder=folder,
        task=task,
        model=models.model,
        operators={name: find("operator", name, OPERATORS)() for name in OPERATORS},
        sandbox=sandbox,
        journal=journal,
        history=history,
        budget=Budget(config.steps, config.hours, spent=spent, clock=(clock or Clock()).now),
        limits=limits,
        seed=config.seed,
        ledger=models.ledger,
        estimate=models.estimate,
        code_hash=normalised_hash,
        cancel=cancel,
        advise=advise,
        scratch=pad.for_node if config.scratch else _no_scratch,
        settings=_settings(config),
        clock=clock or Clock(),
        on_event=on_event,
    )


def _limits(config: Config, task: Task) -> Limits:
    return Limits(
        seconds=config.run_seconds or task.seconds or Limits().seconds,
        memory_mb=config.memory_mb,
        cpus=config.cpus,
        pids=config.pids,
        disk_mb=config.disk_mb,
        gpus=config.gpus,
    )


def _settings(config: Config) -> Settings:
    return Settings(
        prompt_tokens=config.prompt_tokens,
        reply_tokens=config.reply_tokens,
        memory=config.memory,
        cue=config.cue,
        advice_every=config.advice_every,
        smoke=config.smoke,
        parallel=config.parallel,
        ahead=config.ahead if config.ahead is not None else _ahead(config.parallel),
        outage_seconds=config.outage_hours * HOUR,
    )


def _ahead(parallel: int) -> int:
    """As many as run, so that no sandbox waits for a model; none for one, which keeps the order
    of a run's nodes, and so its tree, the same each time."""
    return parallel if parallel > 1 else 0


def _no_scratch(node_id: int) -> Scratch | None:
    return None


def _start_event(task: Task, named: Named, sandbox: Sandbox, config: Config) -> dict[str, Any]:
    info = task.info
    return {
        "event": "start",
        "version": VERSION,
        "at": _now(),
        "task": {
            "name": info.name,
            "metric": info.metric,
            "maximize": info.maximize,
            "problem": info.problem,
            "evaluation": info.evaluation,
            "fingerprint": task.fingerprint,
        },
        "model": named.default.name,
        "models": named.names(),
        "policy": config.policy,
        "seed": config.seed,
        "sandbox": sandbox.about,
        "packages": dict(sandbox.packages()),
    }


def _absolute(task: str) -> str:
    """A task's folder as a path that holds wherever the run is resumed; a name stays a name."""
    return str(Path(task).expanduser().absolute()) if is_folder(task) else task


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
