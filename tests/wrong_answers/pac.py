"""Wrong answers to the exercises pac."""

from wrong_answers import Answers

wrong = Answers()
