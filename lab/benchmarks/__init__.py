"""What is fast, what tests notice, what is accused in vain: measured, and kept in tables."""
