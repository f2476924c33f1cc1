"""What only the pages of the book need: plots, checked statements and graded exercises."""
