"""The programs of the paper, each as a file that runs."""
