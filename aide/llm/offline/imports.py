"""The import lines of a program, from the names that its body uses."""

from __future__ import annotations

import re

_MODULES = {
    "import itertools": "itertools",
    "import re": "re",
    "import numpy as np": "np",
    "import pandas as pd": "pd",
}
_HOMES = {
    "lightgbm": "LGBMClassifier LGBMRegressor",
    "scipy.ndimage": "gaussian_filter",
    "sklearn.base": "BaseEstimator ClassifierMixin RegressorMixin clone",
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.cluster": "KMeans",
    "sklearn.compose": "ColumnTransformer TransformedTargetRegressor",
    "sklearn.decomposition": "PCA TruncatedSVD",
    "sklearn.ensemble": "ExtraTreesClassifier ExtraTreesRegressor GradientBoostingClassifier "
    "GradientBoostingRegressor HistGradientBoostingClassifier HistGradientBoostingRegressor "
    "RandomForestClassifier RandomForestRegressor StackingClassifier StackingRegressor "
    "VotingClassifier VotingRegressor",
    "sklearn.feature_extraction.text": "TfidfVectorizer",
    "sklearn.feature_selection": "SelectPercentile f_classif f_regression",
    "sklearn.gaussian_process": "GaussianProcessClassifier GaussianProcessRegressor",
    "sklearn.gaussian_process.kernels": "RBF ConstantKernel WhiteKernel",
    "sklearn.impute": "KNNImputer SimpleImputer",
    "sklearn.kernel_approximation": "Nystroem",
    "sklearn.linear_model": "ElasticNet LogisticRegression Ridge RidgeCV SGDClassifier",
    "sklearn.metrics": "accuracy_score average_precision_score balanced_accuracy_score "
    "cohen_kappa_score f1_score log_loss matthews_corrcoef mean_absolute_error "
    "mean_absolute_percentage_error median_absolute_error r2_score roc_auc_score "
    "root_mean_squared_error root_mean_squared_log_error",
    "sklearn.model_selection": "KFold ShuffleSplit StratifiedKFold cross_val_score",
    "sklearn.naive_bayes": "GaussianNB",
    "sklearn.neighbors": "KNeighborsClassifier KNeighborsRegressor",
    "sklearn.neural_network": "MLPClassifier MLPRegressor",
    "sklearn.pipeline": "make_pipeline",
    "sklearn.preprocessing": "MinMaxScaler OneHotEncoder OrdinalEncoder PolynomialFeatures "
    "PowerTransformer QuantileTransformer RobustScaler StandardScaler TargetEncoder",
    "sklearn.svm": "SVC SVR",
    "sklearn.tree": "DecisionTreeClassifier DecisionTreeRegressor",
}


def import_lines(body: str) -> list[str]:
    """The imports for a program's body: standard library, then the others, sorted by module."""
    code = re.sub(r'("""|")(?:\\.|(?!\1).)*\1', "", body, flags=re.DOTALL)
    used = set(re.findall(r"[A-Za-z_]\w*", code))
    lines = [line for line, name in _MODULES.items() if name in used]
    standard = sum(line.endswith(("itertools", " re")) for line in lines)
    if standard:
        lines.insert(standard, "")
    for module, names in _HOMES.items():
        wanted = [name for name in names.split() if name in used]
        if wanted:
            lines.append(f"from {module} import {', '.join(wanted)}")
    return lines
