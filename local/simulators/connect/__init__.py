"""A simulator for Amazon Connect: the operations that an import of users needs, for boto3's `connect` client.

Shapes, routes and statuses are those of botocore's service model; quotas, rules and delays those of the service's own
documents. What they do not say was seen in the wild or is marked as chosen. State is in memory.
"""
