"""`python -m benchmarks.copies.decode_step`, which notebook 02 names to students."""

from __future__ import annotations

import pytest
import torch

from benchmarks.copies import decode_step


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("sys.argv", ["decode_step", "--quick"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit):
        decode_step.main()
    assert "this is measured on a CUDA GPU, and torch finds none here" in capsys.readouterr().err
