"""Trips: a flight, then a hotel and a car side by side."""
