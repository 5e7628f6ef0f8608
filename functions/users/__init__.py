"""Users: the import of a CSV file of users into Amazon Connect, one outcome for every row."""
