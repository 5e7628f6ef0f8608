"""Many concurrent orders on the deployed stack."""
