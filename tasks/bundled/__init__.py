"""Tasks that come with the package: small real data sets, each with a hidden test."""

from aide.tasks.bundled.folders import bundled_folder, bundled_tasks, hidden_labels, provenance

__all__ = ["bundled_folder", "bundled_tasks", "hidden_labels", "provenance"]
