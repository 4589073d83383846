"""python -m mlebench is the command mlebench."""

from mlebench.cli import run

if __name__ == "__main__":
    run()
