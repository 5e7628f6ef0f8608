"""What holds for all functions, machines and documents, read from template.yaml, the code and the texts."""
