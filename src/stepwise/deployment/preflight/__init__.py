"""`make preflight`: checks the template against an account before a deployment.

It leaves nothing behind but, on demand, SAM's bucket.
"""
