"""`python -m regard` is the command `regard`."""

from regard.cli.main import run

if __name__ == "__main__":
    run()
