"""`python -m distpriv` is the `distpriv` command."""

from distpriv.cli.app import main

if __name__ == "__main__":
    main()
