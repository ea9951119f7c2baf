"""NVIDIA's libraries that the virtual GPU lacks are named in one sentence, by function and by header."""

from __future__ import annotations

import pytest

from common.build.hints import hint_for
from common.build.nvcc.libraries import absent_among, is_nvidias, refusal_of


@pytest.mark.parametrize(
    ("function", "library"),
    [
        ("cusparseCreate", "cuSPARSE"),
        ("curandCreateGenerator", "cuRAND's host API"),
        ("cufftPlan1d", "cuFFT"),
        ("cusolverDnCreate", "cuSOLVER"),
        ("ncclCommInitAll", "NCCL"),
        ("cudnnCreate", "cuDNN"),
        ("cublasLtMatrixTransform", "cuBLASLt"),
        ("nvmlInit_v2", "NVML"),
    ],
)
def test_a_function_that_the_linker_does_not_find_names_its_library(function, library):
    sentence = refusal_of(f"main.o: in function `main':\nmain.cu:3: undefined reference to `{function}'\n")
    assert sentence.startswith(f"{function} is a function of {library}, which the virtual GPU does not have")


def test_a_function_of_nobodys_is_the_users_own():
    assert refusal_of("main.cu:3: undefined reference to `helper(float)'\n") == ""


def test_every_library_is_left_out_of_the_link_and_the_absent_ones_are_known():
    words = ["-lcublas", "-lcublas_static", "-lcusparse", "-lcufft_static", "-lm", "-lmine"]
    assert [word for word in words if is_nvidias(word)] == words[:4]
    assert absent_among(words) == ["-lcusparse", "-lcufft_static"]


def test_a_missing_header_says_whose_it_is_and_what_to_install():
    assert "belongs to cuSPARSE" in str(hint_for("fatal error: cusparse.h: No such file or directory"))
    hint = hint_for("fatal error: curand_kernel.h: No such file or directory")
    assert "pip install nvidia-curand" in str(hint)
    assert "spelled as on disk" in str(hint_for("fatal error: mine.h: No such file or directory"))
