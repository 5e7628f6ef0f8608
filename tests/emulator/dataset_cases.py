"""AWS behaviour of a Distributed Map state: reading its dataset and building its children's inputs."""

import gzip
import json
import uuid
from collections.abc import Callable
from typing import Any

from tests.emulator.conformance import GUIDE, SPEC, Case, Definition, Lab, each, machine

_READER = f"{GUIDE}, ItemReader"
_BATCHER = f"{GUIDE}, ItemBatcher"
_ITEMS = f"{GUIDE}, ItemsPath"
_PARSES = f"{GUIDE}, How Step Functions parses input CSV files"
_FEWER = "fewer fields than the header: Step Functions provides empty strings for the missing values"
_FAILED = f"{GUIDE}, Error names: States.ItemReaderFailed: it couldn't read all the items from the item source"
_FIRST = {"InputType": "CSV", "CSVHeaderLocation": "FIRST_ROW"}
_UNREAD = ("FAILED", "States.ItemReaderFailed")


def distributed(processor: Definition, kind: str = "STANDARD", **fields: Any) -> Definition:
    return each({"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": kind}, **processor}, **fields)


def echo(**fields: Any) -> Definition:
    """A machine whose Distributed Map outputs each child's input."""
    return machine(All=distributed(machine(Give={"Type": "Pass"}), **fields))


def bucket(lab: Lab, **objects: str | bytes) -> str:
    """The name of a new bucket with these objects."""
    name, s3 = f"b-{uuid.uuid4().hex[:12]}", lab.account.client("s3")
    s3.create_bucket(Bucket=name)
    for key, body in objects.items():
        s3.put_object(Bucket=name, Key=key, Body=body)
    return name


def reader(place: str, key: str = "data", **config: Any) -> Definition:
    at = {"Bucket": place, "Key": key}
    return {"Resource": "arn:aws:states:::s3:getObject", "ReaderConfig": config, "Parameters": at}


def read(body: str | bytes, given: Any = None, **config: Any) -> Callable[[Lab], Any]:
    """Run an execution that reads a file. Returns its end."""
    return lambda lab: lab.start(echo(ItemReader=reader(bucket(lab, data=body), **config)), given).end()


def given(value: Any, **fields: Any) -> Callable[[Lab], Any]:
    """Run an execution that iterates over `$.all`. Returns its end."""
    return lambda lab: lab.start(echo(ItemsPath="$.all", **fields), value).end()


def inline(value: Any) -> Callable[[Lab], Any]:
    """Run an execution that iterates over `$.all` in an inline Map. Returns its end."""
    return lambda lab: lab.start(machine(All=each(machine(Give={"Type": "Pass"}), ItemsPath="$.all")), value).end()


def numbered(count: int) -> dict[str, Any]:
    return {"all": list(range(count)), "two": 2, "eleven": 11}


def batches(*items: list[Any]) -> tuple[str, Any]:
    return "SUCCEEDED", [{"Items": own} for own in items]


def delimited(lab: Lab) -> Any:
    """The names of the delimiters that give a file two columns."""
    signs = {"COMMA": ",", "PIPE": "|", "SEMICOLON": ";", "SPACE": " ", "TAB": "\t"}
    runs = {name: read(f"a{sign}b\n1{sign}2\n", **_FIRST, CSVDelimiter=name)(lab) for name, sign in signs.items()}
    return [name for name, end in runs.items() if end == ("SUCCEEDED", [{"a": "1", "b": "2"}])]


def empty(lab: Lab) -> Any:
    given = {"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": ["a"]}
    return [read("", **config)(lab) for config in (_FIRST, given, {"InputType": "JSONL"})]


def listed(lab: Lab, **config: Any) -> Any:
    name = bucket(lab, a1="[1, 2]", a2="[3]", b="[4]")
    source = {"Resource": "arn:aws:states:::s3:listObjectsV2", "Parameters": {"Bucket": name, "Prefix": "a"}}
    return lab.start(echo(ItemReader={**source, "ReaderConfig": config})).end()[1]


def inventory(lab: Lab) -> Any:
    name = bucket(lab, part=gzip.compress(b'"b","one.txt","3"\n"b","two.txt","4"\n'))
    files = [{"key": "part", "size": 1, "MD5checksum": ""}]
    manifest = {"fileFormat": "CSV", "fileSchema": "Bucket, Key, Size", "files": files}
    manifest["destinationBucket"] = f"arn:aws:s3:::{name}"
    lab.account.client("s3").put_object(Bucket=name, Key="manifest", Body=json.dumps(manifest))
    return lab.start(echo(ItemReader=reader(name, "manifest", InputType="MANIFEST"))).end()


def athena(lab: Lab) -> Any:
    name = bucket(lab, one="1\n", two="2\n3\n")
    lab.account.client("s3").put_object(Bucket=name, Key="list", Body=f"s3://{name}/one\ns3://{name}/two\n")
    source = reader(name, "list", ManifestType="ATHENA_DATA", InputType="JSONL")
    return lab.start(echo(ItemReader=source)).end()


def version(lab: Lab) -> Any:
    name, s3 = bucket(lab), lab.account.client("s3")
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    first = s3.put_object(Bucket=name, Key="data", Body="[1]")["VersionId"]
    s3.put_object(Bucket=name, Key="data", Body="[2]")
    source = reader(name, InputType="JSON")
    source["Parameters"]["VersionId"] = first
    return lab.start(echo(ItemReader=source)).end()


def jsonata(lab: Lab) -> Any:
    """A machine in which every field that may be an expression is one."""
    source = reader(bucket(lab, data="a\n1\n2\n3\n"), **_FIRST, MaxItems="{% 1 + 1 %}")
    where = source.pop("Parameters")
    all_items = distributed(
        machine(Give={"Type": "Pass"}),
        ItemReader={**source, "Arguments": {**where, "Key": "{% $states.input.key %}"}},
        ItemSelector={"n": "{% $number($states.context.Map.Item.Value.a) %}"},
        ItemBatcher={"MaxItemsPerBatch": "{% $states.input.two %}", "BatchInput": {"k": "{% $states.input.key %}"}},
        ToleratedFailurePercentage="{% 50 %}",
    )
    return lab.start({**machine(All=all_items), "QueryLanguage": "JSONata"}, {"key": "data", "two": 2}).end()


def unread(lab: Lab) -> Any:
    caught = [{"ErrorEquals": ["States.ItemReaderFailed"], "Next": "Told"}]
    source = reader(bucket(lab, data="{"), InputType="JSON")
    states = echo(ItemReader=source, Catch=caught, Next="Told")["States"]
    return lab.start(machine(**states, Told={"Type": "Pass", "Result": "caught"})).end()


CASES = [
    Case(
        "a batch has no more items than allowed",
        f"{_BATCHER}: Step Functions adds the items to an Items array",
        given(numbered(5), ItemBatcher={"MaxItemsPerBatch": 2}),
        batches([0, 1], [2, 3], [4]),
    ),
    Case(
        "a batch has no more bytes than allowed",
        f"{SPEC}, MaxInputBytesPerBatch: the maximum size in bytes of each sub-array",
        given({"all": ["abc", "def", "ghi"]}, ItemBatcher={"MaxInputBytesPerBatch": 13}),
        batches(["abc", "def"], ["ghi"]),
    ),
    Case(
        "the smaller limit of a batch counts",
        f"{_BATCHER}: with both, Step Functions reduces the number of items to avoid exceeding the size",
        given(numbered(6), ItemBatcher={"MaxItemsPerBatch": 3, "MaxInputBytesPerBatch": 5}),
        batches([0, 1], [2, 3], [4, 5]),
    ),
    Case(
        "an item larger than a batch is no batch",
        f"{SPEC}, MaxInputBytesPerBatch: the maximum size in bytes of each sub-array (no document names the error)",
        given({"all": ["abcdefgh"]}, ItemBatcher={"MaxInputBytesPerBatch": 10}),
        ("FAILED", "States.DataLimitExceeded"),
    ),
    Case(
        "the limits of a batch come from paths",
        f"{_BATCHER}: MaxItemsPerBatchPath, MaxInputBytesPerBatchPath: a reference path to the number",
        given(numbered(6), ItemBatcher={"MaxItemsPerBatchPath": "$.two", "MaxInputBytesPerBatchPath": "$.eleven"}),
        batches([0, 1], [2, 3], [4, 5]),
    ),
    Case(
        "a batch has its fixed input",
        f"{_BATCHER}, BatchInput: Step Functions merges this input with the input of each child",
        given(numbered(1), ItemBatcher={"MaxItemsPerBatch": 2, "BatchInput": {"kind": "all", "n.$": "$.two"}}),
        ("SUCCEEDED", [{"BatchInput": {"kind": "all", "n": 2}, "Items": [0]}]),
    ),
    Case(
        "a batch has what ItemSelector makes",
        f"{GUIDE}, Map state fields: ItemSelector is applied before ItemBatcher",
        given(
            {"all": ["x", "y"]},
            ItemBatcher={"MaxItemsPerBatch": 2},
            ItemSelector={"at.$": "$$.Map.Item.Index", "is.$": "$$.Map.Item.Value"},
        ),
        batches([{"at": 0, "is": "x"}, {"at": 1, "is": "y"}]),
    ),
    Case(
        "a child's input is what ItemSelector makes",
        f"{GUIDE}, ItemSelector: values selected from the state input or the Context object",
        given({"all": ["x"], "of": 1}, ItemSelector={"at.$": "$$.Map.Item.Index", "of.$": "$.of"}),
        ("SUCCEEDED", [{"at": 0, "of": 1}]),
        lacking=False,
    ),
    Case(
        "a header is the first row",
        f"{_READER}: FIRST_ROW: the first line of the file is the header",
        read("a,b\n1,2\n", **_FIRST),
        ("SUCCEEDED", [{"a": "1", "b": "2"}]),
        lacking=False,
    ),
    Case(
        "a byte order mark is no part of a header",
        f"{_READER}: FIRST_ROW (whether AWS removes the mark is not documented)",
        read("\ufeffa,b\n1,2\n".encode(), **_FIRST),
        ("SUCCEEDED", [{"a": "1", "b": "2"}]),
    ),
    Case(
        "a header is given",
        f"{_READER}: GIVEN: specify the header within the state machine definition",
        read("1|2\n", InputType="CSV", CSVHeaderLocation="GIVEN", CSVHeaders=["a", "b"], CSVDelimiter="PIPE"),
        ("SUCCEEDED", [{"a": "1", "b": "2"}]),
        lacking=False,
    ),
    Case(
        "fields that are missing are empty, more are left out",
        f"{_PARSES}: {_FEWER}; with more, it skips the additional fields",
        read("a,b\n1\n2,3,4\n", **_FIRST),
        ("SUCCEEDED", [{"a": "1", "b": ""}, {"a": "2", "b": "3"}]),
        lacking=False,
    ),
    Case(
        "a blank row misses all fields",
        f"{_PARSES}: newlines separate records; {_FEWER}",
        read("a,b\n1,2\n\n3,4\n", **_FIRST),
        ("SUCCEEDED", [{"a": "1", "b": "2"}, {"a": "", "b": ""}, {"a": "3", "b": "4"}]),
    ),
    Case(
        "delimiters have names",
        f"{_READER}: CSVDelimiter: COMMA (default), PIPE, SEMICOLON, SPACE, TAB",
        delimited,
        ["COMMA", "PIPE", "SEMICOLON", "SPACE", "TAB"],
        lacking=False,
    ),
    Case(
        "a newline between quotes is part of its field",
        f"{_PARSES}: if a field contains a newline, enclose the field in double quotes",
        read('a,b\r\n"1\r\nx",2\r\n"3\n",4\r\n', **_FIRST),
        ("SUCCEEDED", [{"a": "1\r\nx", "b": "2"}, {"a": "3\n", "b": "4"}]),
        lacking=False,
    ),
    Case(
        "with a header that is given the first row is an item",
        f"{_READER}: GIVEN: specify the header within the state machine definition",
        read("\ufeffa\n1\n", InputType="CSV", CSVHeaderLocation="GIVEN", CSVHeaders=["a"]),
        ("SUCCEEDED", [{"a": "a"}, {"a": "1"}]),
    ),
    Case(
        "a field may be as long as an input",
        f"{GUIDE}, Quotas: maximum input or output size: 256 KiB",
        lambda lab: len(read("a\n" + "x" * 200_000, **_FIRST)(lab)[1][0]["a"]),
        200_000,
    ),
    Case(
        "a backslash escapes",
        f"{_PARSES}: preserve backslashes by repeating them; one before any other character is silently removed",
        read('a,b\nC:\\\\x,\\y\n"1,""2""",3\\,4\n', **_FIRST),
        ("SUCCEEDED", [{"a": "C:\\x", "b": "y"}, {"a": '1,"2"', "b": "3,4"}]),
    ),
    Case("a header alone is no dataset", _FAILED, read("a,b\n", **_FIRST), _UNREAD),
    Case("an empty array in a file is no dataset", _FAILED, read("[]", InputType="JSON"), _UNREAD),
    Case("an empty file is no dataset", _FAILED, empty, [_UNREAD] * 3),
    Case("a file of a number is no dataset", _FAILED, read("1", InputType="JSON"), _UNREAD),
    Case(
        "a file's object is iterated over by its keys",
        f"{_READER}: the JSON file must contain an array or a JSON object",
        read('{"a": 1, "b": 2}', InputType="JSON"),
        ("SUCCEEDED", [{"Key": "a", "Value": 1}, {"Key": "b", "Value": 2}]),
    ),
    Case(
        "an object is iterated over by its keys",
        f"{_ITEMS}: it runs an iteration for each key-value pair in the object, passing the pair to the iteration",
        lambda lab: [found({"all": {"a": 1, "b": [2]}})(lab)[1] for found in (given, inline)],
        [[{"Key": "a", "Value": 1}, {"Key": "b", "Value": [2]}]] * 2,
    ),
    Case(
        "an iteration knows its key",
        f"{GUIDE}, Context object: Map.Item.Key",
        given(
            {"all": {"a": 1}},
            ItemSelector={"of.$": "$$.Map.Item.Key", "is.$": "$$.Map.Item.Value", "at.$": "$$.Map.Item.Index"},
        ),
        ("SUCCEEDED", [{"of": "a", "is": 1, "at": 0}]),
    ),
    Case(
        "a number is not iterated over",
        f"{_ITEMS}: the path must evaluate to a JSON array or object",
        lambda lab: [found({"all": 1})(lab) for found in (given, inline)],
        [("FAILED", "States.Runtime")] * 2,
    ),
    Case(
        "no items are no failure",
        f"{GUIDE}, Map state: if the array is empty, the output is an empty array",
        given({"all": []}),
        ("SUCCEEDED", []),
        lacking=False,
    ),
    Case(
        "what cannot be read can be caught",
        f"{_FAILED}",
        unread,
        ("SUCCEEDED", "caught"),
    ),
    Case(
        "a dataset is cut at MaxItems",
        f"{_READER}: MaxItems: limits the number of data items passed to the Map state",
        read("[1, 2, 3]", InputType="JSON", MaxItems=2),
        ("SUCCEEDED", [1, 2]),
        lacking=False,
    ),
    Case(
        "MaxItems comes from a path",
        f"{_READER}: MaxItemsPath: a reference path to an integer",
        read("a\n1\n2\n", {"n": 1}, **_FIRST, MaxItemsPath="$.n"),
        ("SUCCEEDED", [{"a": "1"}]),
        lacking=False,
    ),
    Case(
        "a pointer selects the array of a file",
        f"{_READER}: ItemsPointer: JSON Pointer (RFC 6901: ~1 is a slash)",
        read('{"a/b": {"c": [1, 2]}}', InputType="JSON", ItemsPointer="/a~1b/c"),
        ("SUCCEEDED", [1, 2]),
    ),
    Case(
        "JSON Lines are items",
        f"{_READER}: InputType JSONL",
        read('{"a": 1}\n{"a": 2}\n', InputType="JSONL"),
        ("SUCCEEDED", [{"a": 1}, {"a": 2}]),
        lacking=False,
    ),
    Case(
        "an inventory's objects are items",
        f"{_READER}: InputType MANIFEST: each row of the S3 inventory's files is an item",
        inventory,
        ("SUCCEEDED", [{"Bucket": "b", "Key": "one.txt", "Size": "3"}, {"Bucket": "b", "Key": "two.txt", "Size": "4"}]),
    ),
    Case("a manifest names files", f"{_READER}: ManifestType ATHENA_DATA", athena, ("SUCCEEDED", [1, 2, 3])),
    Case(
        "objects are items",
        f"{_READER}: listObjectsV2: metadata of the objects under the prefix",
        lambda lab: [one["Key"] for one in listed(lab)],
        ["a1", "a2"],
        lacking=False,
    ),
    Case(
        "the items of all objects are items",
        f"{_READER}: LOAD_AND_FLATTEN: reads the data of the objects that are listed",
        lambda lab: listed(lab, InputType="JSON", Transformation="LOAD_AND_FLATTEN"),
        [1, 2, 3],
        lacking=False,
    ),
    Case(
        "a reader reads the version it names",
        f"{_READER}: if the bucket has versioning enabled, you can also provide the object version",
        version,
        ("SUCCEEDED", [1]),
    ),
    Case(
        "fields may be expressions",
        f"{_READER}, Arguments (JSONata); {_BATCHER}: values, or JSONata expressions that evaluate to them",
        jsonata,
        ("SUCCEEDED", [{"BatchInput": {"k": "data"}, "Items": [{"n": 1}, {"n": 2}]}]),
    ),
]
