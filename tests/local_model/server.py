"""A program: serve a model's file over HTTP on a free port of the loopback interface.

usage: python server.py FILE NAME CONTEXT THREADS

Runs in an environment of its own, so it imports nothing of the project. Prints the address once
the model is loaded, and ends when its standard input does, so that it cannot outlive the tests.
"""

import sys

import xllamacpp  # type: ignore[import-not-found]  # is in the server's own environment only


def serve(file: str, name: str, context: int, threads: int) -> xllamacpp.Server:
    params = xllamacpp.CommonParams()
    params.model.path = file
    params.model_alias = {name}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = context
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.use_jinja = True
    return xllamacpp.Server(params)


if __name__ == "__main__":
    file, name, context, threads = sys.argv[1:]
    server = serve(file, name, int(context), int(threads))
    print(server.listening_address, flush=True)
    sys.stdin.read()
