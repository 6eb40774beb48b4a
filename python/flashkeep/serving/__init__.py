"""Serving a simulated drive over NBD: the server in a thread (`server`), the client of its control socket (`control`),
its answers as text (`answers`), the commands `serve` and `control` (`command`), the live page (`page`, `sampling`)."""
