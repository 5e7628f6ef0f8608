"""What the explorers of overlapping actors share: turns, virtual time, the wire and the database."""
