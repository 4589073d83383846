"""What preparers and metrics in the form of MLE-Dojo import, as mleflow runs them."""
