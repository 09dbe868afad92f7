"""A real llama.cpp server with a tiny model of random weights, and Ollama's /api/generate before it.

The model is written here with the package gguf: one layer, an alphabet of bytes, weights from a fixed
seed. Its replies are garbage, which is the point: nothing may take them for a verdict. Prints the two
addresses as one line of JSON and serves until its standard input ends.
"""

import http.server
import json
import os
import sys
import threading
import urllib.request

import gguf
import numpy
import xllamacpp

WIDTH, FORWARD, CONTEXT = 64, 32, 32768


def write_model(path):
    """The smallest valid model: every byte is a token."""
    random = numpy.random.default_rng(7)
    tokens, kinds = [b"<unk>", b"<s>", b"</s>"], [2, 3, 3]
    for byte in range(256):
        tokens.append(b"<0x%02X>" % byte)
        kinds.append(6)
    for letter in range(33, 127):
        tokens.append(bytes([letter]))
        kinds.append(1)
    tokens.append("\u2581".encode())
    kinds.append(1)
    count = len(tokens)
    out = gguf.GGUFWriter(path, "llama")
    out.add_name("random")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_block_count(1)
    out.add_feed_forward_length(FORWARD)
    out.add_head_count(2)
    out.add_head_count_kv(2)
    out.add_layer_norm_rms_eps(1e-6)
    out.add_rope_dimension_count(WIDTH // 2)
    out.add_vocab_size(count)
    out.add_file_type(0)
    out.add_tokenizer_model("llama")
    out.add_tokenizer_pre("default")
    out.add_token_list(tokens)
    out.add_token_scores([-1.0] * count)
    out.add_token_types(kinds)
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)
    out.add_unk_token_id(0)
    out.add_add_bos_token(True)
    out.add_add_eos_token(False)
    out.add_chat_template("{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\\n' }}{% endfor %}")

    def weights(name, *shape):
        values = random.normal(0, 0.5, shape).astype(numpy.float32)
        out.add_tensor(name, values)

    weights("token_embd.weight", count, WIDTH)
    weights("output.weight", count, WIDTH)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        out.add_tensor(f"{name}.weight", numpy.ones(WIDTH, numpy.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        weights(f"blk.0.{name}.weight", WIDTH, WIDTH)
    weights("blk.0.ffn_gate.weight", FORWARD, WIDTH)
    weights("blk.0.ffn_up.weight", FORWARD, WIDTH)
    weights("blk.0.ffn_down.weight", WIDTH, FORWARD)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


class Ollama(http.server.BaseHTTPRequestHandler):
    """POST /api/generate as Ollama answers it, by llama.cpp's /completion."""

    protocol_version = "HTTP/1.1"
    llama = ""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/api/generate":
            return self.answer(404, {"error": "not found"})
        if not asked.get("raw"):
            return self.answer(400, {"error": "only raw prompts"})
        limit = (asked.get("options") or {}).get("num_predict", 24)
        body = {"prompt": asked["prompt"], "n_predict": limit, "temperature": 0, "seed": 1}
        request = urllib.request.Request(
            self.llama + "/completion",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                said = json.load(reply)
        except urllib.error.HTTPError as error:
            return self.answer(error.code, {"error": error.read().decode(errors="replace")})
        ended = "stop" if said.get("stop_type") in ("eos", "word") else "length"
        document = {
            "model": asked["model"],
            "created_at": "2026-01-01T00:00:00Z",
            "response": said["content"],
            "done": True,
            "done_reason": ended,
            "total_duration": 1,
            "prompt_eval_count": said.get("tokens_evaluated", 0),
            "eval_count": said.get("tokens_predicted", 0),
        }
        return self.answer(200, document)

    def answer(self, status, document):
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def main():
    path = os.path.join(sys.argv[1], "random.gguf")
    write_model(path)
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = CONTEXT
    params.n_predict = 64
    params.warmup = False
    params.cpuparams.n_threads = 1
    params.port = 0
    server = xllamacpp.Server(params)
    Ollama.llama = server.listening_address
    shim = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
    threading.Thread(target=shim.serve_forever, daemon=True).start()
    told = {"llama": server.listening_address, "ollama": f"http://127.0.0.1:{shim.server_port}"}
    told["model_bytes"] = os.path.getsize(path)
    print(json.dumps(told), flush=True)
    sys.stdin.read()
    # The server's threads do not end by themselves.
    os._exit(0)


main()
