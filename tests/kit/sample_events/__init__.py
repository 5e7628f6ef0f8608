"""What each sample event is answered, and the state that it is about."""
