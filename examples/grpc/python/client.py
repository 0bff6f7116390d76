"""IDs over gRPC, with retries: python client.py TARGET COUNT FILE

TARGET is one or several addresses, such as ipv4:127.0.0.1:50051,127.0.0.1:50061 or dns:///ids.internal:50051.
Writes COUNT IDs to FILE, one a line: one by one and in batches in turn.
"""

import pathlib
import sys

import grpc
from hispeeddesign.idgen.v1 import id_generator_pb2 as idgen
from hispeeddesign.idgen.v1 import id_generator_pb2_grpc as service

CONFIG = pathlib.Path(__file__).parent.parent / "service-config.json"
BATCH = 20


def connect(target: str) -> grpc.Channel:
    """A channel that tries again: a call that was not answered may be made anew, for no ID is given twice."""
    options = [
        ("grpc.service_config", CONFIG.read_text()),
        # Several addresses would make an authority that is none, and servers refuse that.
        ("grpc.default_authority", "leaseflake"),
        # A server that is stopped breaks no connection; a ping finds it out.
        ("grpc.keepalive_time_ms", 10_000),
        ("grpc.keepalive_timeout_ms", 5_000),
    ]
    return grpc.insecure_channel(target, options=options)


def ids(stub: service.IdGeneratorServiceStub, count: int):
    while count > 0:
        yield stub.GenerateId(idgen.GenerateIdRequest(caller_service="example-python")).id
        count -= 1
        size = min(count, BATCH)
        if size:
            request = idgen.GenerateIdBatchRequest(count=size, caller_service="example-python")
            yield from stub.GenerateIdBatch(request).ids
            count -= size


def main(target: str, count: int, path: str) -> None:
    with connect(target) as channel, open(path, "w", encoding="ascii", buffering=1) as file:
        for number in ids(service.IdGeneratorServiceStub(channel), count):
            file.write(f"{number}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
