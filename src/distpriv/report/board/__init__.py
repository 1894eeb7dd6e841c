"""The page of a release for those who have to decide about it: what is said, what stays hidden, how sure that is."""

from distpriv.report.board.board_page import board_page
from distpriv.report.board.facts import Asked, BoardFacts, ShownStatistic

__all__ = ["Asked", "BoardFacts", "ShownStatistic", "board_page"]
