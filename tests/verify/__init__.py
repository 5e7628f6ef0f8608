"""`make verify`: each sample event in Lambda's container image, linters, and advisories of the installed packages."""
