"""Wrong answers to the exercises personalized."""

from wrong_answers import Answers

wrong = Answers()
