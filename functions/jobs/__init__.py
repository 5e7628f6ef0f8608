"""Jobs: RunJob reads an S3 object once, however often it is called."""
