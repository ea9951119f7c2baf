"""Right, by torch's own copies: one for each row."""

MOST = 4


def copy_many(rows, count):
    if count > MOST:
        return 1
    for source, target, length in rows[:count]:
        target[:length].copy_(source[:length])
    return 0
