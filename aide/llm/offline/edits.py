"""All atomic edits by name."""

from __future__ import annotations

from aide.llm.offline.edit import Edit
from aide.llm.offline.edits_features import FEATURE_EDITS
from aide.llm.offline.edits_models import MODEL_EDITS
from aide.llm.offline.edits_parameters import PARAMETER_EDITS
from aide.llm.offline.edits_prepare import PREPARE_EDITS
from aide.llm.offline.edits_target import TARGET_EDITS

EDITS: dict[str, Edit] = {
    edit.name: edit
    for edits in (FEATURE_EDITS, PREPARE_EDITS, MODEL_EDITS, PARAMETER_EDITS, TARGET_EDITS)
    for edit in edits
}
