"""A victim policy in Python that collects badly."""


def choose(valid: list[int], _age: list[int], _erases: list[int]) -> int:
    """The last block with the most valid pages."""
    return max(range(len(valid)), key=lambda place: (valid[place], place))
