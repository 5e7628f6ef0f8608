"""Rules for all functions, machines and documents, checked on the template, the code and the texts."""
