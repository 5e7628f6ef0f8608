"""Names that CloudFormation generates, and the patterns that match those of one root stack.

Every resource is in a nested stack, whose name begins with the root's name. The rule is that of CloudFormation's own
types (`IdentifierUtils` in cloudformation-cli-java-plugin): stack name and logical id each get half of the characters
that the type's limit leaves next to a random suffix; the longer one also gets what the shorter one does not need.
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
"""Maximum name length of each type whose generated names contain the stack name."""
_LOWER_CASE = {"AWS::S3::Bucket"}
_SHORTEST = min(LIMITS, key=LIMITS.__getitem__)
# Suffixes have twelve characters today, but 13 have been seen.
_SUFFIX = "1A2B3C4D5E6F7"


def generated(kind: str, stack: str, logical_id: str) -> str:
    """Return a name like those that CloudFormation generates. stack: the stack that declares the resource."""
    free = LIMITS[kind] - len(f"--{_SUFFIX}")
    kept = min(len(stack), max(_kept(kind), free - len(logical_id)))
    name = f"{stack[:kept]}-{logical_id[: free - kept]}-{_SUFFIX}"
    return name.lower() if kind in _LOWER_CASE else name


def pattern(kind: str, root: str) -> str:
    """Return the pattern of all generated names of a type in a root stack, truncated if the type's limit is low."""
    begin = f"{root}-"[: _kept(kind)]
    return f"{begin.lower() if kind in _LOWER_CASE else begin}*"


def apart(one: str, other: str) -> bool:
    """Check that no pattern of one stack matches a name of the other, as `stepwise-*` matches names of stepwise-dev."""
    first, second = (pattern(_SHORTEST, root).removesuffix("*") for root in (one, other))
    return not first.startswith(second) and not second.startswith(first)


def _kept(kind: str) -> int:
    """Return the number of characters of a stack name that remain next to the longest logical id."""
    return -(-(LIMITS[kind] - len(f"--{_SUFFIX}")) // 2)
