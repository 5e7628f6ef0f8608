"""A simulator of a card processor. It is the payment gateway's, with cards for charges."""
