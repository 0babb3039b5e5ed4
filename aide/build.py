"""The composition root: a configuration becomes a run. The one place that knows all parts."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aide.budget import Budget
from aide.calls import RecordedModel
from aide.config import Config, read_config
from aide.engine import Engine
from aide.errors import AideError, RunFolderError, StorageError
from aide.finish import finish
from aide.folder import RunFolder, new_folder, write_atomic
from aide.history import History
from aide.interfaces import Limits, Model, OnEvent, Operator, Policy, Sandbox, Task
from aide.journal import VERSION, Journal, read_events
from aide.llm import MODELS
from aide.loop import INTERRUPTED, Loop
from aide.operators import OPERATORS
from aide.operators.check import normalised_hash
from aide.parts import Parts
from aide.policies import POLICIES
from aide.registry import find
from aide.replay import State, replay
from aide.sandboxes import make_sandbox
from aide.sandboxes.environment import DEFAULT_PACKAGES
from aide.tasks.load import is_folder, load

RUNS = Path("runs")


class Session:
    """One stretch of work on a run: from its start, or a resume, to where it stops."""

    def __init__(self, parts: Parts, state: State, policy: Policy) -> None:
        self._parts, self._state = parts, state
        engine = Engine(
            state.tree,
            policy,
            steps=parts.budget.steps,
            pending=state.pending.values(),
        )
        self._loop = Loop(parts, engine, state.hashes)
        self.folder = parts.folder

    def interrupt(self) -> None:
        """Stop soon, from any thread; the run can be resumed."""
        self._loop.interrupt()

    def run(self) -> str:
        """Search until a limit ends it, then finish; returns the reason for the end."""
        try:
            return self._run()
        except AideError as error:
            with contextlib.suppress(StorageError):
                self._parts.write({"event": "stop", "reason": str(error)})
            raise

    def _run(self) -> str:
        # A crash may have come between a node's journal line and its place in best/.
        self._parts.history.heal(self._loop.tree)
        self._loop.keep_best()
        reason = self._loop.run()
        best = self._loop.tree.best
        if reason != INTERRUPTED and best is not None and not self._is_final(best.id):
            finish(self._parts, self._loop.evaluator, best)
            if self._loop.evaluator.cancelled:
                reason = INTERRUPTED
        self._parts.write({"event": "stop", "reason": reason})
        return reason

    def _is_final(self, node_id: int) -> bool:
        final = self._state.final
        return final is not None and final["node"] == node_id and bool(final["refitted"])


@contextlib.contextmanager
def new_session(config: Config, on_event: OnEvent) -> Iterator[Session]:
    """A session of a new run in a new folder.

    Raises:
        InputError: something that the configuration names cannot be used.
    """
    task = load_task(config)
    model, policy = make_model(config), make_policy(config)
    with contextlib.ExitStack() as stack:
        sandbox = stack.enter_context(_sandbox(config, model))
        folder = RunFolder(config.out or new_folder(RUNS, task.info.name))
        folder.create()
        stack.enter_context(folder.writing())
        # Once more, since another process may have begun one before we had the lock.
        folder.check_new()
        history = stack.enter_context(contextlib.closing(History(folder.solutions)))
        kept = config.model_copy(update={"out": None, "task": _absolute(config.task)})
        write_atomic(folder.config, kept.to_toml())
        journal = stack.enter_context(Journal(folder.journal))
        start = _start_event(task, model, sandbox, config)
        journal.append(start)
        calls = stack.enter_context(Journal(folder.calls, sync=False))
        parts = _parts(
            config, folder, task, model, sandbox, journal, history, calls, on_event, 0.0
        )
        on_event({"event": "start", "run": str(folder.path), "sandbox": sandbox.about, **start})
        yield Session(parts, replay([start]), policy)


@contextlib.contextmanager
def resumed_session(
    path: Path, on_event: OnEvent, *, changes: Mapping[str, Any]
) -> Iterator[Session]:
    """A session that goes on with a run.

    Args:
        path: the run's folder.
        on_event: told of what happens.
        changes: settings that differ from those of the run's start, such as more steps.

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
        model, policy = make_model(config), make_policy(config)
        sandbox = stack.enter_context(_sandbox(config, model))
        history = stack.enter_context(contextlib.closing(History(folder.solutions)))
        write_atomic(folder.config, config.to_toml())
        journal = stack.enter_context(Journal(folder.journal))
        calls = stack.enter_context(Journal(folder.calls, sync=False))
        spent = state.elapsed
        parts = _parts(
            config, folder, task, model, sandbox, journal, history, calls, on_event, spent
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


def make_model(config: Config) -> Model:
    """The model that a name stands for; `name:argument` hands the argument to it."""
    name, _, argument = config.model.partition(":")
    if name in MODELS:
        maker = find("model", name, MODELS)
        model: Model = maker(argument) if argument else maker()
        return model
    made: Model = find("model", config.model, MODELS)()
    return made


def make_policy(config: Config) -> Policy:
    policy: Policy = find("policy", config.policy, POLICIES)(
        drafts=config.drafts,
        debug_prob=config.debug_prob,
        max_debug_depth=config.max_debug_depth,
        seed=config.seed,
    )
    return policy


@contextlib.contextmanager
def _sandbox(config: Config, model: Model) -> Iterator[Sandbox]:
    sandbox: Sandbox
    if ":" in config.sandbox:
        sandbox = find("sandbox", config.sandbox, {})()
    else:
        sandbox = make_sandbox(
            config.sandbox,
            run_id=secrets.token_hex(4),
            packages=(*DEFAULT_PACKAGES, *config.packages),
            image=config.image,
            python=config.python,
            offline_author=model.name == "offline",
        )
    try:
        yield sandbox
    finally:
        sandbox.close()


def _parts(
    config: Config,
    folder: RunFolder,
    task: Task,
    model: Model,
    sandbox: Sandbox,
    journal: Journal,
    history: History,
    calls: Journal,
    on_event: OnEvent,
    spent: float,
) -> Parts:
    operators: dict[str, Operator] = {
        name: find("operator", name, OPERATORS)() for name in OPERATORS
    }
    return Parts(
        folder=folder,
        task=task,
        model=RecordedModel(model, calls),
        operators=operators,
        sandbox=sandbox,
        journal=journal,
        history=history,
        budget=Budget(config.steps, config.hours, spent=spent),
        limits=Limits(
            seconds=config.run_seconds or task.seconds or Limits().seconds,
            memory_mb=config.memory_mb,
            cpus=config.cpus,
            pids=config.pids,
            disk_mb=config.disk_mb,
        ),
        seed=config.seed,
        code_hash=normalised_hash,
        on_event=on_event,
    )


def _start_event(task: Task, model: Model, sandbox: Sandbox, config: Config) -> dict[str, Any]:
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
        "model": model.name,
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
