"""Environment of the API function."""

from runtime.environment import Variables


class Environment(Variables):
    """Names of tables and the bucket; ARNs of state machines and functions."""

    idempotency_table: str
    orders_table: str
    payments_table: str
    inventory_table: str
    order_saga_arn: str
    order_recovery_arn: str
    commands_table: str
    gates_table: str
    data_table: str
    history_table: str
    publish_command_function: str
    imports_table: str
    imports_bucket: str
    create_import_function: str
    tasks_table: str
    create_task_function: str
    webhooks_table: str
    subscribe_webhook_function: str
    remove_webhook_function: str
    approvals_table: str
    decide_approval_function: str
    applications_table: str
    submit_application_function: str
