"""Frames of estimators: what every mechanism does alike, written once.

A mechanism says which law it draws from and what it promises. Settings, units, budgets,
accounts, the one draw and predictions are the frame's; the mathematics is in the
mechanisms. Of the three domains, `CubeRegressor` is for budgets of one's own, `BallRegressor` for
one promise to all, `UserEstimator` for people who own several rows.
"""

from pdpbook.frames.ball import BallRegressor, OnePromise
from pdpbook.frames.cube import CubeRegressor
from pdpbook.frames.means import MeanOfLabels
from pdpbook.frames.people import People
from pdpbook.frames.regressor import PrivateEstimator, PrivateRegressor
from pdpbook.frames.settings import mechanism, one_of, optional, setting
from pdpbook.frames.users import PeopleWithRows, UserEstimator
