"""`make preflight`: checks the template against an account before anything is deployed. It leaves nothing behind."""
