"""``python -m textlds``."""

from textlds.cli import main

if __name__ == "__main__":
    main()
