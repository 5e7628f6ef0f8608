"""The DynamoDBs that tests run on: AWS's own, the local stack's over HTTP and in the test's process, and moto's."""
