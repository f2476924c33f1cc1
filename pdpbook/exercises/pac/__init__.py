"""PAC privacy: information and the noise that buys it, guesses of membership, a clipped step."""

from pdpbook.exercises.pac.assignment import *
from pdpbook.exercises.pac.clipping import *
from pdpbook.exercises.pac.halves import *
from pdpbook.exercises.pac.information import *
from pdpbook.exercises.pac.membership import *
from pdpbook.exercises.pac.success import *
