"""A simulator for Amazon Connect: the operations that an import of users needs, for boto3's `connect` client.

Shapes, routes and statuses come from botocore's service model; quotas, rules and delays from Connect's documentation.
Anything else was observed on AWS or is marked as chosen. State is in memory.
"""
