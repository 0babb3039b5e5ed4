"""The kinds of model that the author knows, and what each of them can take."""

from __future__ import annotations

from dataclasses import dataclass

Params = tuple[tuple[str, str], ...]
"""Keyword arguments in order: name and the Python text of the value."""


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of model, as a classifier and as a regressor.

    Attributes:
        title: what people call it.
        function: the name of the function that makes it, in the programs.
        classifier, regressor: the estimator's class, "" if there is none.
        seeded: it takes `random_state`.
        takes_nan: it can be fitted on missing values.
        numeric: it measures distances or weighs columns, so it wants one-hot codes and scaling.
        balances: its classifier takes `class_weight`.
        wrong: a keyword that a hasty author gives it, and that it does not have.
        fixed_classifier, fixed_regressor: arguments that are always there.
        package: the distribution that it comes from.
    """

    title: str
    function: str
    classifier: str
    regressor: str
    seeded: bool = True
    takes_nan: bool = False
    numeric: bool = False
    balances: bool = False
    wrong: tuple[str, str] = ("n_iter", "300")
    fixed_classifier: Params = ()
    fixed_regressor: Params = ()
    package: str = "scikit-learn"


FAMILIES: dict[str, Family] = {
    "hgb": Family(
        "histogram gradient boosting",
        "hist_gradient_boosting",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        takes_nan=True,
        balances=True,
        wrong=("n_estimators", "300"),
    ),
    "lightgbm": Family(
        "LightGBM",
        "light_gbm",
        "LGBMClassifier",
        "LGBMRegressor",
        takes_nan=True,
        balances=True,
        wrong=("", ""),
        fixed_classifier=(("n_jobs", "1"), ("verbose", "-1")),
        fixed_regressor=(("n_jobs", "1"), ("verbose", "-1")),
        package="lightgbm",
    ),
    "gbm": Family(
        "gradient boosting",
        "gradient_boosting",
        "GradientBoostingClassifier",
        "GradientBoostingRegressor",
        wrong=("max_iter", "300"),
    ),
    "forest": Family(
        "random forest",
        "random_forest",
        "RandomForestClassifier",
        "RandomForestRegressor",
        takes_nan=True,
        balances=True,
        wrong=("max_iter", "300"),
    ),
    "extra": Family(
        "extra trees",
        "extra_trees",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        balances=True,
        wrong=("n_trees", "300"),
    ),
    "tree": Family(
        "a single decision tree",
        "decision_tree",
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        takes_nan=True,
        balances=True,
        wrong=("max_leaves", "31"),
        fixed_classifier=(("min_samples_leaf", "5"),),
        fixed_regressor=(("min_samples_leaf", "5"),),
    ),
    "linear": Family(
        "a linear model",
        "linear_model",
        "LogisticRegression",
        "Ridge",
        seeded=False,
        numeric=True,
        balances=True,
        wrong=("regularization", "1.0"),
        fixed_classifier=(("max_iter", "2000"),),
    ),
    "elastic": Family(
        "an elastic net",
        "elastic_net",
        "SGDClassifier",
        "ElasticNet",
        numeric=True,
        balances=True,
        wrong=("lambda_", "0.001"),
        fixed_classifier=(("loss", '"log_loss"'), ("penalty", '"elasticnet"')),
        fixed_regressor=(("max_iter", "5000"),),
    ),
    "svm": Family(
        "a support vector machine with an RBF kernel",
        "support_vectors",
        "SVC",
        "SVR",
        seeded=False,
        numeric=True,
        balances=True,
        wrong=("alpha", "1.0"),
    ),
    "knn": Family(
        "nearest neighbours",
        "nearest_neighbours",
        "KNeighborsClassifier",
        "KNeighborsRegressor",
        seeded=False,
        numeric=True,
        wrong=("k", "9"),
    ),
    "mlp": Family(
        "a small neural network",
        "neural_network",
        "MLPClassifier",
        "MLPRegressor",
        numeric=True,
        wrong=("hidden_layers", "(64, 32)"),
        fixed_classifier=(("max_iter", "200"),),
        fixed_regressor=(("max_iter", "200"),),
    ),
    "gp": Family(
        "a Gaussian process",
        "gaussian_process",
        "GaussianProcessClassifier",
        "GaussianProcessRegressor",
        numeric=True,
        wrong=("length_scale", "1.0"),
        fixed_classifier=(("kernel", "ConstantKernel() * RBF(5.0)"),),
        fixed_regressor=(
            ("kernel", "ConstantKernel() * RBF(5.0) + WhiteKernel()"),
            ("normalize_y", "True"),
        ),
    ),
    "bayes": Family(
        "naive Bayes",
        "naive_bayes",
        "GaussianNB",
        "",
        seeded=False,
        numeric=True,
        wrong=("alpha", "1.0"),
    ),
}
