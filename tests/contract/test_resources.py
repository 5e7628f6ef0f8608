"""Tables, buckets, topics, logs, parameters and outputs of the template."""

from collections import Counter
from typing import Any

from accounts.definition import ACCOUNT_SETUP
from tests.kit.alarms import ALARMS
from tests.kit.deployed_stack import Stack
from tests.kit.each import each
from tests.kit.project import read_json
from tests.kit.released import RELEASED, stateful
from tests.kit.template import FUNCTIONS, RESOURCES, TEMPLATE, arn_of, of_type

TABLES = of_type("AWS::DynamoDB::Table")
TOPICS = of_type("AWS::SNS::Topic")
QUEUES = of_type("AWS::SQS::Queue")
LOG_GROUPS = of_type("AWS::Logs::LogGroup")
# Functions that a caller may invoke without a state machine.
CALLED_ALONE = [
    "ProcessOrderFunction",
    "UpdateOrderStatusFunction",
    "ProcessPaymentFunction",
    "ProcessRefundFunction",
    "ReserveInventoryFunction",
    "ReleaseInventoryFunction",
    "FinalizeOrderFunction",
    "SweepOrdersFunction",
    "ReportOrdersFunction",
    "RunJobFunction",
    "StartUserImportFunction",
    "PublishCommandFunction",
    "RetryCommandFunction",
    "SkipCommandFunction",
    "StartCommandsFunction",
    "WakeCommandsFunction",
    "SyncTargetsFunction",
    "CommandEndedFunction",
    "SweepCommandsFunction",
    "CreateImportFunction",
    "StopImportFunction",
    "FollowImportsFunction",
    "ImportEndedFunction",
    "SweepImportsFunction",
    "CreateTaskFunction",
    "RetryTaskFunction",
    "LaunchTasksFunction",
    "TaskEndedFunction",
    "SweepTasksFunction",
    "SubmitApplicationFunction",
    "StartApplicationsFunction",
    "ApplicationEndedFunction",
    "SweepApplicationsFunction",
    "RequestApprovalFunction",
    "DecideApprovalFunction",
    "SendCallbacksFunction",
    "ApprovalEndedFunction",
    "SweepApprovalsFunction",
    "NotifyWebhooksFunction",
    "SendWebhookFunction",
    "SweepWebhooksFunction",
    *(f"{name}Function" for step in ACCOUNT_SETUP.all_steps[1:] for name in (step.name, step.compensation)),
    "MarkApprovedFunction",
    "MarkFailedFunction",
    "FinalizeAccountFunction",
    "SweepAccountsFunction",
]
ACCOUNTS_TABLES = {
    "ApplicationsTable": {"HASH": "application_id"},
    "SetupsTable": {"HASH": "pk"},
    "CustomersTable": {"HASH": "customer_id"},
    "AccountsTable": {"HASH": "account_number"},
    "LedgerTable": {"HASH": "account_number", "RANGE": "entry_id"},
    "CardsTable": {"HASH": "card_id"},
}
BUCKETS = of_type("AWS::S3::Bucket")
COMMANDS_TABLES = ["CommandsTable", "DataTable", "HistoryTable", "GatesTable", "ProductsTable"]
# Outputs that other systems read, and their resources.
OUTPUTS = {
    "OrderSagaArn": "OrderSaga",
    "OrderRecoveryArn": "OrderRecovery",
    "OrdersTable": "OrdersTable",
    "PaymentsTable": "PaymentsTable",
    "InventoryTable": "InventoryTable",
    "IdempotencyTable": "IdempotencyTable",
    "ReportsTable": "ReportsTable",
    "FailedRecordsBucket": "FailedRecordsBucket",
    "JobsBucket": "JobsBucket",
    "RunJobFunctionArn": "RunJobFunction",
    "OrderEventsTopicArn": "OrderEventsTopic",
    "AlertsTopicArn": "AlertsTopic",
    "RoutineTopicArn": "RoutineTopic",
    "UserImportArn": "UserImport",
    "UsersBucket": "UsersBucket",
    "CommandArn": "Command",
    "WebhooksTable": "WebhooksTable",
    **{name: name for name in COMMANDS_TABLES},
    "CatalogBucket": "CatalogBucket",
    "ImportCsvArn": "ImportCsv",
    **{name: name for name in ("ImportsTable", "ImportsBucket", "FailedImportRecordsBucket")},
    "FailedCommandRecordsBucket": "FailedCommandRecordsBucket",
    "TaskArn": "Task",
    **{name: name for name in ("TasksTable", "FailedTaskRecordsBucket")},
    **{name: name for name in ("ApprovalsTable", "FailedApprovalRecordsBucket")},
    "ApprovalsTopicArn": "ApprovalsTopic",
    "AccountOpeningArn": "AccountOpening",
    **{name: name for name in ("ScreeningTable", "DocumentsBucket", "FailedApplicationRecordsBucket")},
    "AccountSetupArn": "AccountSetup",
    "AccountRecoveryArn": "AccountRecovery",
    **{name: name for name in ACCOUNTS_TABLES},
    **{f"{function}Arn": function for function in CALLED_ALONE},
}
KEYS = {
    "OrdersTable": {"HASH": "order_id"},
    "PaymentsTable": {"HASH": "order_id"},
    "InventoryTable": {"HASH": "pk"},
    "IdempotencyTable": {"HASH": "pk"},
    "ApprovalsTable": {"HASH": "approval_id"},
    **ACCOUNTS_TABLES,
    **{
        table: {"HASH": "pk", "RANGE": "sk"}
        for table in [*COMMANDS_TABLES, "ImportsTable", "TasksTable", "WebhooksTable", "ScreeningTable"]
    },
}
EXPIRING = ["ApprovalsTable", "IdempotencyTable", "CommandsTable", "ImportsTable", "TasksTable", "WebhooksTable"]

every_table = each("table", TABLES)
every_bucket = each("bucket", BUCKETS)


def schema(keys: list[dict[str, str]]) -> dict[str, str]:
    return {key["KeyType"]: key["AttributeName"] for key in keys}


@every_table
def test_table_is_billed_per_request(table: str) -> None:
    assert TABLES[table]["BillingMode"] == "PAY_PER_REQUEST"


@every_table
def test_table_is_encrypted_and_has_point_in_time_recovery(table: str) -> None:
    assert TABLES[table]["SSESpecification"] == {"SSEEnabled": True}
    assert TABLES[table]["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


@each("resource", [*TABLES, *BUCKETS])
def test_data_outlives_the_stack_but_not_a_failed_first_deployment(resource: str) -> None:
    """UpdateReplacePolicy does not support RetainExceptOnCreate."""
    assert RESOURCES[resource]["DeletionPolicy"] == "RetainExceptOnCreate"
    assert RESOURCES[resource]["UpdateReplacePolicy"] == "Retain"


@each("table", sorted(set(TABLES) - {"ReportsTable"}))
def test_parameter_protects_tables_from_deletion(table: str) -> None:
    """ReportsTable is the exception: it can be rebuilt."""
    on = Stack(parameters={"DeletionProtection": "true"})

    assert on.resolve(TABLES[table]["DeletionProtectionEnabled"]) == "true"


@each("resource", RESOURCES)
def test_rollback_of_a_first_deployment_can_delete_everything(resource: str) -> None:
    """SAM retains layer versions by default."""
    properties = RESOURCES[resource].get("Properties", {})

    assert RESOURCES[resource].get("DeletionPolicy", "Delete") in {"Delete", "RetainExceptOnCreate"}
    assert Stack().resolve(properties.get("DeletionProtectionEnabled", "false")) == "false"
    assert properties.get("RetentionPolicy") == ("Delete" if resource.endswith("Layer") else None)


@each(("table", "key"), KEYS.items())
def test_table_has_the_contract_key(table: str, key: dict[str, str]) -> None:
    assert schema(TABLES[table]["KeySchema"]) == key


def test_no_stateful_resource_has_moved_since_the_last_release() -> None:
    """A moved resource is deleted, and a new one with its name starts empty."""
    released = read_json(RELEASED / "stateful.json")
    current = stateful()

    assert {name: current.get(name) for name in released} == released


def test_orders_stream_has_old_and_new_images() -> None:
    assert TABLES["OrdersTable"]["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}


def test_stream_has_at_most_two_readers() -> None:
    """DynamoDB throttles a stream with more readers."""
    sources = [
        event["Properties"]["Stream"]["Fn::GetAtt"][0]
        for function in FUNCTIONS.values()
        for event in function.properties.get("Events", {}).values()
        if event["Type"] == "DynamoDB"
    ]

    assert {table for table, body in TABLES.items() if "StreamSpecification" in body} == set(sources)
    assert [table for table, readers in Counter(sources).items() if readers > 2] == []


def test_orders_of_a_day_can_be_queried() -> None:
    indexes = {index["IndexName"]: index for index in TABLES["OrdersTable"]["GlobalSecondaryIndexes"]}

    assert schema(indexes["created_ymd"]["KeySchema"])["HASH"] == "created_ymd"


@each("table", EXPIRING)
def test_completed_records_expire(table: str) -> None:
    assert TABLES[table]["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


@each("table", sorted(set(TABLES) - set(EXPIRING)))
def test_business_rows_never_expire(table: str) -> None:
    assert "TimeToLiveSpecification" not in TABLES[table]


@every_bucket
def test_bucket_is_private_and_encrypted(bucket: str) -> None:
    (encryption,) = BUCKETS[bucket]["BucketEncryption"]["ServerSideEncryptionConfiguration"]

    assert BUCKETS[bucket]["PublicAccessBlockConfiguration"] == dict.fromkeys(
        ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"), True
    )
    assert Stack().resolve(encryption)["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"


def test_user_files_are_encrypted_with_the_given_key() -> None:
    key = "arn:aws:kms:us-east-1:000000000000:key/k-1"
    (encryption,) = BUCKETS["UsersBucket"]["BucketEncryption"]["ServerSideEncryptionConfiguration"]

    assert Stack(parameters={"UsersBucketKeyArn": key}).resolve(encryption) == {
        "BucketKeyEnabled": True,
        "ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key},
    }


@every_bucket
def test_bucket_requires_tls(bucket: str) -> None:
    (policy,) = (body for body in of_type("AWS::S3::BucketPolicy").values() if arn_of(body["Bucket"]) == bucket)
    statement, *_ = policy["PolicyDocument"]["Statement"]

    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert statement["Resource"] == [{"Fn::GetAtt": [bucket, "Arn"]}, {"Fn::Sub": f"${{{bucket}.Arn}}/*"}]


@each("bucket", [name for name, body in BUCKETS.items() if "VersioningConfiguration" in body])
def test_noncurrent_versions_expire(bucket: str) -> None:
    rules = [one for one in BUCKETS[bucket]["LifecycleConfiguration"]["Rules"] if "Prefix" not in one]
    (days,) = (
        one["NoncurrentVersionExpiration"]["NoncurrentDays"] for one in rules if "NoncurrentVersionExpiration" in one
    )

    assert any(one.get("ExpiredObjectDeleteMarker") for one in rules)
    assert {one["Status"] for one in rules} == {"Enabled"}
    # A failed job names its object's version.
    assert bucket != "JobsBucket" or days * 86_400 > QUEUES["JobFailuresQueue"]["MessageRetentionPeriod"]


@each("bucket", ["JobsBucket", "UsersBucket"])
def test_bucket_sends_events_and_keeps_versions(bucket: str) -> None:
    assert BUCKETS[bucket]["NotificationConfiguration"]["EventBridgeConfiguration"]["EventBridgeEnabled"] is True
    assert BUCKETS[bucket]["VersioningConfiguration"] == {"Status": "Enabled"}


@each("topic", TOPICS)
def test_topic_is_encrypted(topic: str) -> None:
    assert arn_of(TOPICS[topic]["KmsMasterKeyId"]) in of_type("AWS::KMS::Key")


@each("queue", QUEUES)
def test_queue_is_encrypted(queue: str) -> None:
    assert QUEUES[queue].get("SqsManagedSseEnabled") or "KmsMasterKeyId" in QUEUES[queue]


@each("group", LOG_GROUPS)
def test_logs_have_a_stated_retention(group: str) -> None:
    assert LOG_GROUPS[group]["RetentionInDays"] == {"Ref": "LogRetentionDays"}


@each("alarm", ALARMS)
def test_alarm_says_what_happened_and_notifies_the_alerts_topic(alarm: str) -> None:
    assert ALARMS[alarm]["AlarmDescription"].endswith(". See docs/alarms.md.")
    assert [arn_of(action) for action in ALARMS[alarm]["AlarmActions"]] == ["AlertsTopic"]


@each("section", ["Parameters", "Outputs"])
def test_every_parameter_and_output_is_described(section: str) -> None:
    entries: dict[str, dict[str, Any]] = TEMPLATE[section]

    assert [name for name, entry in entries.items() if not entry.get("Description")] == []


@each("name", TEMPLATE["Parameters"])
def test_every_parameter_is_used(name: str) -> None:
    everything = {section: body for section, body in TEMPLATE.items() if section != "Parameters"}

    assert f"'Ref': '{name}'" in str(everything)


@each(("output", "resource"), OUTPUTS.items())
def test_contract_outputs_exist(output: str, resource: str) -> None:
    assert arn_of(TEMPLATE["Outputs"][output]["Value"]) == resource
