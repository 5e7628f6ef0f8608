"""A simulator of a card processor. It is the payment gateway's simulator, with cards for charges."""
