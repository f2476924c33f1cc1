"""Wrong answers to the exercises per_instance."""

from wrong_answers import Answers

wrong = Answers()
