"""Common mistakes: each function changes the buffers as a kernel with that mistake would."""

from __future__ import annotations

from collections.abc import Callable

from grader.spec import Buffers, Size

from .layout import page_strides, pages, places, put, row, row_strides, rows, strided

Change = Callable[[Size, Buffers], None]


def swapped(size: Size, buffers: Buffers) -> None:
    k, v = rows(size, buffers)
    put(size, buffers, v, k, pages(size, buffers))


def only_k(size: Size, buffers: Buffers) -> None:
    buffers["k_cache"][pages(size, buffers), : row(size)] = rows(size, buffers)[0]


def only_v(size: Size, buffers: Buffers) -> None:
    buffers["v_cache"][pages(size, buffers), : row(size)] = rows(size, buffers)[1]


def k_in_both(size: Size, buffers: Buffers) -> None:
    k, _ = rows(size, buffers)
    put(size, buffers, k, k, pages(size, buffers))


def next_token(size: Size, buffers: Buffers) -> None:
    """Each page gets the row of the token after its own."""
    k, v = rows(size, buffers)
    put(size, buffers, k[1:], v[1:], pages(size, buffers)[:-1])


def next_page(size: Size, buffers: Buffers) -> None:
    """Each row goes to the page after its own."""
    at = pages(size, buffers) + 1
    inside = at < len(buffers["k_cache"])
    k, v = rows(size, buffers)
    put(size, buffers, k[inside], v[inside], at[inside])


def token_as_page(size: Size, buffers: Buffers) -> None:
    at = pages(size, buffers)
    put(size, buffers, *rows(size, buffers), at.new_tensor(range(size.tokens)))


def contiguous_rows(size: Size, buffers: Buffers) -> None:
    """K and V read as if their rows followed one another without a gap."""
    k, v = places(size)
    put(
        size,
        buffers,
        strided(size, buffers, k, row(size)),
        strided(size, buffers, v, row(size)),
        pages(size, buffers),
    )


def contiguous_pages(size: Size, buffers: Buffers) -> None:
    """Caches written as if their pages had no padding."""
    for name, values in zip(("k_cache", "v_cache"), rows(size, buffers), strict=True):
        flat = buffers[name].view(-1)
        flat[: len(buffers[name]) * row(size)].view(-1, row(size))[pages(size, buffers)] = values


def strides_of_k_for_v(size: Size, buffers: Buffers) -> None:
    at, pitch = pages(size, buffers), page_strides(size)[0]
    _, v = places(size)
    buffers["k_cache"][at, : row(size)] = rows(size, buffers)[0]
    as_k = buffers["v_cache"].view(-1)[: len(buffers["v_cache"]) * pitch].view(-1, pitch)
    as_k[at, : row(size)] = strided(size, buffers, v, row_strides(size)[0])


def row_tail_missing(multiple: int) -> Change:
    """Copies each row only up to its last whole multiple of so many elements."""

    def change(size: Size, buffers: Buffers) -> None:
        whole = row(size) // multiple * multiple
        k, v = rows(size, buffers)
        at = pages(size, buffers)
        buffers["k_cache"][at, :whole] = k[:, :whole]
        buffers["v_cache"][at, :whole] = v[:, :whole]

    return change


def first_head_only(size: Size, buffers: Buffers) -> None:
    k, v = rows(size, buffers)
    at = pages(size, buffers)
    buffers["k_cache"][at, : size.head_dim] = k[:, : size.head_dim]
    buffers["v_cache"][at, : size.head_dim] = v[:, : size.head_dim]


def last_tokens_missing(multiple: int) -> Change:
    """Stores only whole blocks of so many tokens."""

    def change(size: Size, buffers: Buffers) -> None:
        whole = size.tokens // multiple * multiple
        k, v = rows(size, buffers)
        put(size, buffers, k[:whole], v[:whole], pages(size, buffers)[:whole])

    return change


KNOWN_MISTAKES: dict[str, Change] = {
    "K and V are swapped": swapped,
    "only K is stored": only_k,
    "only V is stored": only_v,
    "K is stored in both caches": k_in_both,
    "rows are off by one token": next_token,
    "rows go one page too far": next_page,
    "the indices are ignored: token t went to page t": token_as_page,
    "K and V are read as if contiguous: their row strides are ignored": contiguous_rows,
    "the cache is written as if its pages were contiguous: its strides are ignored": contiguous_pages,
    "V is read and stored with the strides of K": strides_of_k_for_v,
    "only the first head is stored": first_head_only,
    **{
        f"the tail of each row is missing, past the last multiple of {multiple} elements": row_tail_missing(
            multiple
        )
        for multiple in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
    },
    **{
        f"the last tokens are missing, past the last multiple of {multiple}": last_tokens_missing(multiple)
        for multiple in (2, 4, 8, 16, 32, 64, 128)
    },
}
