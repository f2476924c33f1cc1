"""Wrong answers to the exercises user_level."""

from wrong_answers import Answers

wrong = Answers()
