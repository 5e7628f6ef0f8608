"""The names that CloudFormation generates, and the pattern that matches those of one root stack.

Every resource is in a nested stack, whose name begins with the root's. The rule is that of CloudFormation's own types
(`IdentifierUtils` of cloudformation-cli-java-plugin): the stack's name and the logical id share what the type's limit
leaves beside a random suffix, and the shorter one leaves its rest to the other.
"""

LIMITS = {
    "AWS::CloudFormation::Stack": 128,
    "AWS::CloudWatch::Alarm": 255,
    "AWS::CodeDeploy::Application": 100,
    "AWS::CodeDeploy::DeploymentGroup": 100,
    "AWS::DynamoDB::Table": 255,
    "AWS::Events::Rule": 64,
    "AWS::IAM::Role": 64,
    "AWS::Lambda::Function": 64,
    "AWS::S3::Bucket": 63,
    "AWS::SNS::Topic": 256,
    "AWS::SQS::Queue": 80,
}
"""The longest name of each type that gets a generated one with the stack's name."""
_LOWER_CASE = {"AWS::S3::Bucket"}
_SHORTEST = min(LIMITS, key=LIMITS.__getitem__)
# Twelve characters today; names with 13 exist.
_SUFFIX = "1A2B3C4D5E6F7"


def generated(kind: str, stack: str, logical_id: str) -> str:
    """Return a name as CloudFormation generates it. stack: the name of the stack that declares the resource."""
    free = LIMITS[kind] - len(f"--{_SUFFIX}")
    kept = min(len(stack), max(_kept(kind), free - len(logical_id)))
    name = f"{stack[:kept]}-{logical_id[: free - kept]}-{_SUFFIX}"
    return name.lower() if kind in _LOWER_CASE else name


def pattern(kind: str, root: str) -> str:
    """Return the pattern that matches every generated name of a type in a root stack. Types with low limits cut it."""
    begin = f"{root}-"[: _kept(kind)]
    return f"{begin.lower() if kind in _LOWER_CASE else begin}*"


def apart(one: str, other: str) -> bool:
    """Tell whether no pattern of one stack matches a name of the other. `stepwise-*` matches those of stepwise-dev."""
    first, second = (pattern(_SHORTEST, root).removesuffix("*") for root in (one, other))
    return not first.startswith(second) and not second.startswith(first)


def _kept(kind: str) -> int:
    """Return how much of a stack's name is kept beside the longest logical id."""
    return -(-(LIMITS[kind] - len(f"--{_SUFFIX}")) // 2)
