"""The DynamoDBs that tests run on: AWS's own, and MiniStack's in the test's process. moto's runs state machines."""
