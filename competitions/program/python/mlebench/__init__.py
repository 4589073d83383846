"""What preparers and graders in the form of MLE-bench import, as mleflow runs them."""
