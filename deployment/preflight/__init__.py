"""`make preflight`: what an account says of the template before anything is deployed. It leaves nothing behind."""
