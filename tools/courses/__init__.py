"""What `tools/course.py` commands: assign, collect, repair and grade the exercises."""
