"""Ordering: the order saga, with payments and stock (docs/orders.md).

| module     | contents                                                                     |
| ---------- | ---------------------------------------------------------------------------- |
| handlers   | every Lambda handler, and the environment                                    |
| requests   | an order: types, limits, errors of a call                                    |
| definition | the saga as data                                                             |
| orders     | OrdersTable, the saga's first step, and the notice of an order's end         |
| payments   | PaymentsTable and its step; what a card processor does, and its test tokens  |
| gateway    | charges at the payment gateway, over HTTP                                    |
| stock      | InventoryTable: the stock of a SKU by shards, and reservations               |
| inventory  | the step on stock: reserving and releasing                                   |
| audit      | orders whose rows contradict each other                                      |
"""
