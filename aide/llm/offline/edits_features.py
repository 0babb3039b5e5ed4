"""Edits that add, change or drop columns."""

from __future__ import annotations

from dataclasses import replace

from aide.llm.offline.edit import Edit
from aide.llm.offline.facts import Facts
from aide.llm.offline.features import FEATURES
from aide.llm.offline.recipe import Recipe

_PLANS = {
    "quality-scale": "Turn grades such as poor, fair, good into ordered numbers, since their "
    "order carries information.",
    "rare-levels": "Merge the rare levels of each category, since a level with few rows is noise.",
    "clip-outliers": "Pull the outermost values of the numeric columns in, so that a few rows "
    "do not steer the model.",
    "log-skewed": "Put skewed, non-negative columns on a log scale, so that their range is even.",
    "missing-flags": "Add a flag for each column with gaps, since a gap may mean something.",
    "missing-count": "Add the number of missing values of a row, a cheap hint on its quality.",
    "date-parts": "Take year, month, day and weekday out of the dates, which the model cannot "
    "read as they are.",
    "date-hour": "Add the hour of the day, since activity follows the clock.",
    "date-cycles": "Add hour, weekday and season as points on a circle, so that the end of a "
    "cycle is near its start.",
    "date-elapsed": "Add the days since the first date, so that the model can follow a trend.",
    "date-weekend": "Add weekend flags, also crossed with the hour, since working days run "
    "differently.",
    "titles": "Take titles, words that end with a dot, out of the text columns, since they tell "
    "a person's standing.",
    "text-shape": "Describe each text by its length, words, digits and capitals.",
    "first-letter": "Use the first character of each text as a category, since codes often begin "
    "with their class.",
    "first-word": "Use the first word of each text as a category where it is frequent, such as a "
    "prefix or a family name.",
    "text-number": "Take the last number out of each text, such as that of a room or a ticket.",
    "group-size": "Count how many rows share a text or its first word, since groups behave alike.",
    "words": "Add topics of the texts: TF-IDF of the words, reduced by SVD.",
    "characters": "Add patterns of the texts: TF-IDF of character n-grams, reduced by SVD.",
    "level-counts": "Add how frequent each category's level is, which separates common from rare.",
    "level-pairs": "Cross the categories with the fewest levels, to offer their interactions.",
    "level-means": "Compare the strongest numbers with the mean of the row's level, to see what "
    "is unusual for its kind.",
    "numbers-as-levels": "Offer whole numbers with few values as categories too, since their "
    "effect need not be monotonic.",
    "ratios": "Add ratios of the numbers that correlate most with the target.",
    "products": "Add products of the numbers that correlate most with the target.",
    "squares": "Add squares and roots of the strongest numbers, to allow for curvature.",
    "bins": "Add the strongest numbers in bins, to smooth them.",
    "row-statistics": "Add mean, spread, maximum and zeros over a row's numbers.",
    "name-sums": "Add sums of the numeric columns that share a word in their names, since parts "
    "of one quantity belong together.",
    "year-gaps": "Add the years between columns that hold years, such as an age at an event.",
    "clusters": "Add distances to cluster centres of the numeric columns, to describe regions.",
    "pixel-sums": "Add the ink in each row and column of the images, a profile of the shape.",
    "pixel-gradients": "Add differences of neighbouring pixels, since edges matter more than "
    "brightness.",
    "pixel-blur": "Add smoothed images, so that a small shift of a stroke matters less.",
    "pixel-symmetry": "Add how symmetric each image is and where its centre of mass lies.",
    "drop-constant": "Drop columns that hardly vary, since they can only add noise.",
    "drop-correlated": "Drop numeric columns that nearly repeat another one.",
}


def _feature_edit(name: str) -> Edit:
    needs = FEATURES[name].needs

    def applies(recipe: Recipe, facts: Facts) -> bool:
        return name not in recipe.features and facts.has(needs)

    return Edit(name, "feature", _PLANS[name], applies, lambda r: r.with_features(name))


FEATURE_EDITS = [_feature_edit(name) for name in FEATURES]
FEATURE_EDITS += [
    Edit(
        "keep-strings",
        "feature",
        "Keep the string columns with many values as categories, since some of their values "
        "occur again.",
        lambda r, f: r.text == "drop" and f.has("text"),
        lambda r: replace(r, text="keep"),
    ),
    Edit(
        "drop-strings",
        "feature",
        "Leave out the string columns with many values, since hardly any value occurs twice.",
        lambda r, f: r.text == "keep" and f.has("text"),
        lambda r: replace(r, text="drop"),
    ),
]
