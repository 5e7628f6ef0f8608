"""`make verify`: each sample event in the container that Lambda has, and the advisories of what is installed."""
