"""Replays past changes of orders by raising their `revision`: only a change produces a stream record."""
