"""Wrong answers to the exercises capstone."""

from wrong_answers import Answers

wrong = Answers()
