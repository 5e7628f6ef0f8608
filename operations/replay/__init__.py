"""Fires past changes of orders again, by raising their `revision`: nothing else makes a stream show an item anew."""
