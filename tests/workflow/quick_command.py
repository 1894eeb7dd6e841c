"""The `distpriv` command with one mechanism to plan with and a page that is not drawn: the same in all that is written.

Run as a program, with the arguments of the command.
"""

from tests.workflow.small import only

from distpriv.cli.app import main

if __name__ == "__main__":
    with only("certified_gaussian"):
        main()
