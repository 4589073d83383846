"""MLE-bench's package for harnesses, answered by the program mleflow."""
