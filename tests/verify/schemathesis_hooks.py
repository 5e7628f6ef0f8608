"""Signs the requests of Schemathesis with SigV4, as a caller does."""

import schemathesis
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from requests import PreparedRequest
from requests.auth import AuthBase


class Signed(AuthBase):
    def __call__(self, prepared: PreparedRequest) -> PreparedRequest:
        request = AWSRequest(prepared.method, prepared.url, data=prepared.body)
        SigV4Auth(Credentials("test", "test"), "execute-api", "us-east-1").add_auth(request)
        prepared.headers.update(dict(request.headers))
        return prepared


schemathesis.auth.set_from_requests(Signed())
