"""What people see of results: text and tables in a terminal, figures, HTML pages and notebooks."""
