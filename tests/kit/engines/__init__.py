"""The DynamoDB engines of the tests: DynamoDB Local, and MiniStack in process. moto runs state machines."""
