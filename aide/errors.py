"""Every error that the project raises on purpose.

    AideError                  exit code 1
    ├── InputError             exit code 2: something the user can put right
    │   ├── ConfigError        a setting is unknown, missing or out of range
    │   ├── TaskError          the task's folder, data, target or metric
    │   ├── RunFolderError     the run folder: version, damage, permission, second writer
    │   └── UnavailableError   a program or service is not there: git, an engine, a package
    ├── StorageError           exit code 2: the disk is full or cannot be written
    ├── BudgetExceeded         a limit was reached: kind, value, limit
    ├── InvalidSubmission      a candidate's output breaks the task's format
    ├── ReplyError             a model's reply could not be made into code
    ├── ModelError             a model or its service failed
    │   ├── TransientModelError    the same call may succeed later
    │   ├── ContextTooLongError    the prompt does not fit the model
    │   └── ModelUnusableError     exit code 2: key, name or credit; no call will succeed
    └── SandboxError           the sandbox failed, not the program in it; worth another try

A candidate that fails is a result and never an exception that leaves the engine; a sandbox, model
or task that fails is an exception. The message is one sentence: what is wrong, where, what to do.
"""

from __future__ import annotations


class AideError(Exception):
    """Base of all errors of the project."""

    exit_code = 1


class InputError(AideError):
    """Something that the user gave cannot be used."""

    exit_code = 2


class ConfigError(InputError):
    """A setting is unknown, missing or out of range."""


class TaskError(InputError):
    """The task's folder, data, target or metric cannot be used."""


class RunFolderError(InputError):
    """A run folder cannot be read, written or locked."""


class UnavailableError(InputError):
    """A program, service or package that was asked for is not there."""


class StorageError(AideError):
    """A durable write failed, as on a full disk. What was written before it is intact."""

    exit_code = 2


class BudgetExceeded(AideError):
    """A limit of the run was reached.

    Args:
        kind: which limit: "steps", "hours", "tokens" or "usd".
        value: what has been used, in the unit of the limit.
        limit: what was allowed.
    """

    def __init__(self, kind: str, value: float, limit: float) -> None:
        super().__init__(f"the budget of {limit:g} {kind} is used up ({value:g} used)")
        self.kind, self.value, self.limit = kind, value, limit


class InvalidSubmission(AideError):
    """A candidate's output file breaks the task's format; the message goes to the operators."""


class ReplyError(AideError):
    """A model's reply holds no usable answer; the message says why and is sent back to it."""


class ModelError(AideError):
    """A model or its service failed.

    Args:
        message: one sentence.
        billed: True if the service may have charged for an answer that never arrived whole.
    """

    def __init__(self, message: str, *, billed: bool = False) -> None:
        super().__init__(message)
        self.billed = billed


class TransientModelError(ModelError):
    """The same call may succeed later.

    Args:
        message: one sentence.
        kind: "rate-limit", "overloaded", "server", "timeout", "connection" or "truncated".
        retry_after: seconds that the service asks to wait, if it says so.
        billed: as in `ModelError`.
    """

    def __init__(
        self, message: str, *, kind: str, retry_after: float | None = None, billed: bool = False
    ) -> None:
        super().__init__(message, billed=billed)
        self.kind, self.retry_after = kind, retry_after


class ContextTooLongError(ModelError):
    """The prompt does not fit into the model's context window."""


class ModelUnusableError(ModelError):
    """No call will succeed: the key is refused, the model unknown, or the credit used up."""

    exit_code = 2


class SandboxError(AideError):
    """The sandbox itself failed; says nothing about the program that it was to run."""
