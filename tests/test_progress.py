from distpriv.progress import Progress, silent


def test_silence_is_a_way_to_report_progress() -> None:
    progress: Progress = silent
    assert progress("sampling", 1, 2) is None  # type: ignore[func-returns-value]
