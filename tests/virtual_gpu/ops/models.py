"""The model of any form, by its name."""

from __future__ import annotations

from tests.virtual_gpu.ops.floats import FORMATS
from tests.virtual_gpu.ops.grammar import Form
from tests.virtual_gpu.ops.model import Model
from tests.virtual_gpu.ops.model_approximate import approximate_model
from tests.virtual_gpu.ops.model_bits import bits_model
from tests.virtual_gpu.ops.model_compare import compare_model
from tests.virtual_gpu.ops.model_convert import convert_model
from tests.virtual_gpu.ops.model_float import float_model
from tests.virtual_gpu.ops.model_integer import integer_model
from tests.virtual_gpu.ops.model_move import move_model

_BIT_OPCODES = {
    *("and", "or", "xor", "not", "cnot", "lop3", "shl", "shr", "shf", "prmt"),
    *("bfe", "bfi", "bfind", "bmsk", "szext", "popc", "clz", "brev", "fns"),
}


def model_of(form: Form) -> Model:
    name, signature = form
    opcode, *modifiers = name.split(".")
    if opcode == "cvt":
        return convert_model(name, signature)
    if opcode in ("set", "setp"):
        return compare_model(name)
    if opcode in ("mov", "selp", "slct"):
        return move_model(name, signature)
    if opcode in _BIT_OPCODES:
        return bits_model(name)
    if {"approx", "full"} & set(modifiers):
        return approximate_model(name)
    if modifiers[-1].removesuffix("x2") in FORMATS:
        return float_model(name)
    return integer_model(name)
