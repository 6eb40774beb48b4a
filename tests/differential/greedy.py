"""A victim policy in Python that equals `greedy`."""


def choose(valid: list[int], _age: list[int], _erases: list[int]) -> int:
    """The first block with the fewest valid pages."""
    return valid.index(min(valid))
