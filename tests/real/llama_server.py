"""llama.cpp's own server out of the package xllamacpp, with the names that `llama-server` has for its options.

    python tests/real/llama_server.py --model FILE.gguf --port 8080 --parallel 4 --ctx-size 32768

The key is read from $LLAMA_API_KEY, as `llama-server` does.
"""

from __future__ import annotations

import argparse
import os
import signal

# A thread that spins while it waits for the others takes their processor. Read when the library is loaded.
os.environ.setdefault('OMP_WAIT_POLICY', 'passive')
import xllamacpp


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', required=True)
    parser.add_argument('--alias', default='')
    parser.add_argument('--host', default='127.0.0.1')
    parser.add_argument('--port', type=int, default=8080)
    parser.add_argument('--parallel', type=int, default=4)
    parser.add_argument('--ctx-size', type=int, default=0, help='tokens of all slots together')
    parser.add_argument('--threads', type=int, default=os.cpu_count())
    parser.add_argument('--chat-template-file', type=argparse.FileType(encoding='utf-8'))
    parser.add_argument('--pure-content', action='store_true', help='no parser: calls and thoughts stay in the text')
    arguments = parser.parse_args()

    params = xllamacpp.CommonParams()
    params.model.path = arguments.model
    params.model_alias = {arguments.alias} if arguments.alias else params.model_alias
    params.hostnames, params.port = [arguments.host], arguments.port
    params.n_parallel, params.n_ctx = arguments.parallel, arguments.ctx_size
    params.use_jinja = True
    params.force_pure_content_parser = arguments.pure_content
    if arguments.chat_template_file:
        params.chat_template = arguments.chat_template_file.read()
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = arguments.threads
    params.endpoint_metrics = True
    if key := os.environ.get('LLAMA_API_KEY'):
        params.api_keys = [key]

    ended = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ended)  # before the server's threads begin
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.sigwait(ended)
    os._exit(0)


if __name__ == '__main__':
    main()
