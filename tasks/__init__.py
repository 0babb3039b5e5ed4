"""Tasks: data, goal, metric, and labels that no solution sees."""

from aide.tasks.load import load
from aide.tasks.task import FolderTask

__all__ = ["FolderTask", "load"]
