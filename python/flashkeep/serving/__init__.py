"""Serving a simulated drive over NBD: the server in a thread (`server`), the client of its control socket (`control`),
and the commands `serve` and `control` (`command`)."""
