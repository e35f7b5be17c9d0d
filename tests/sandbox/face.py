#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the HTTP face of `truce sandbox` says to clients, good and bad ones, over raw sockets.

    face.py http://127.0.0.1:PORT/token/TOKEN PID
"""
import json
import os
import resource
import socket
import sys
import time
import urllib.parse

url = urllib.parse.urlsplit(sys.argv[1])
PID = int(sys.argv[2])
PREFIX, TOKEN = url.path, url.path.split("/")[2]
MAPS = "/api/v1/namespaces/default/configmaps"
MAX_BODY = 3 * 1024 * 1024


class Client:
    """One connection; answers are read as HTTP/1.1 says, whatever pieces they come in."""

    def __init__(self, receive_bytes=0):
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(30)
        self.socket.connect((url.hostname, url.port))
        self.rest = b""

    def close(self):
        self.socket.close()

    def more(self):
        piece = self.socket.recv(65536)
        self.rest += piece
        return bool(piece)

    def line(self):
        while b"\r\n" not in self.rest:
            if not self.more():
                raise EOFError
        line, self.rest = self.rest.split(b"\r\n", 1)
        return line.decode()

    def take(self, count):
        while len(self.rest) < count:
            if not self.more():
                raise EOFError
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def chunk(self):
        size = int(self.line(), 16)
        data = self.take(size)
        self.line()
        return data

    def send(self, method, path, body=None, prefix=PREFIX, **headers):
        lines = [f"{method} {prefix}{path} HTTP/1.1"]
        headers = {"Host": url.netloc, **{k.replace("_", "-"): v for k, v in headers.items()}}
        if body is not None and "Transfer-Encoding" not in headers:
            headers.setdefault("Content-Length", str(len(body)))
            headers.setdefault("Content-Type", "application/json")
        lines += [f"{k}: {v}" for k, v in headers.items() if v is not None]
        self.socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b""))

    def head(self):
        status = int(self.line().split()[1])
        headers = {}
        while (line := self.line()) != "":
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        return status, headers

    def ask(self, method, path, body=None, **more):
        self.send(method, path, body, **more)
        status, headers = self.head()
        if method == "HEAD":
            return status, headers, None
        if headers.get("transfer-encoding") == "chunked":
            text = b""
            while piece := self.chunk():
                text += piece
        else:
            text = self.take(int(headers["content-length"]))
        return status, headers, json.loads(text) if headers["content-type"] == "application/json" else text.decode()

    def watch(self, path):
        self.send("GET", path)
        status, headers = self.head()
        assert status == 200 and headers["transfer-encoding"] == "chunked", (status, headers)

    def events(self, count):
        """The next `count` events."""
        found, text = [], b""
        while len(found) < count:
            text += self.chunk()
            while b"\n" in text:
                line, text = text.split(b"\n", 1)
                found.append(json.loads(line))
        return found


def ask(method, path, body=None, **more):
    client = Client()
    answer = client.ask(method, path, body, **more)
    client.close()
    return answer


def config_map(name, data="x"):
    return json.dumps({"metadata": {"name": name}, "data": {"key": data}}).encode()


def wait_for(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.05)


def descriptors():
    return len(os.listdir(f"/proc/{PID}/fd"))


def unread_bytes():
    """What clients have sent and the server has not read."""
    unread, port = 0, f":{url.port:04X}"
    with open("/proc/net/tcp", encoding="ascii") as file:
        for _, here, there, _, queues, *_ in (line.split() for line in file.readlines()[1:]):
            sent, received = (int(bytes, 16) for bytes in queues.split(":"))
            unread += sent * there.endswith(port) + received * here.endswith(port)
    return unread


def who_gives_no_token_is_turned_away():
    for headers in {}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": "Bearer "}:
        status, _, body = ask("GET", MAPS, prefix="", **headers)
        assert status == 401 and body["reason"] == "Unauthorized" and body["message"] == "Unauthorized", (headers, body)
    assert ask("GET", MAPS, prefix="/token/" + "0" * 32)[0] == 401
    assert ask("GET", MAPS, prefix="", Authorization=f"Bearer {TOKEN}")[0] == 200
    assert ask("GET", "/healthz", prefix="")[2] == "ok"
    assert ask("GET", "/version", prefix="")[2]["major"] == "1"
    assert ask("GET", "/version", prefix="", Authorization="Bearer wrong")[0] == 401


def other_names_than_loopbacks_are_refused():
    for host in "evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1":
        assert ask("GET", MAPS, Host=host)[0] == 403, host
    for host in "localhost", "localhost:1", "[::1]:80", "127.0.0.1":
        assert ask("GET", MAPS, Host=host)[0] == 200, host


def other_methods_are_405_as_on_the_real_server():
    for method in "HEAD", "OPTIONS", "TRACE", "FOO":
        assert ask(method, MAPS)[0] == 405, method
    status, _, body = ask("OPTIONS", MAPS)
    assert body["message"] == "the server does not allow this method on the requested resource"


def one_connection_serves_many_requests():
    client = Client()
    for i in range(50):
        assert client.ask("POST", MAPS, config_map(f"many-{i}"))[0] == 201
        assert client.ask("DELETE", f"{MAPS}/many-{i}")[0] == 200
    client.close()


def a_chunked_body_is_read():
    text = config_map("chunked", "y" * 100000)
    pieces = [text[i:i + 999] for i in range(0, len(text), 999)]
    body = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"
    status, _, answer = ask("POST", MAPS, body, Transfer_Encoding="chunked", Content_Type="application/json")
    assert status == 201 and len(answer["data"]["key"]) == 100000
    assert ask("DELETE", f"{MAPS}/chunked")[0] == 200


def a_body_may_have_3_mib_and_no_more():
    padding = MAX_BODY - len(config_map("big", ""))
    client = Client()
    status, _, body = client.ask("POST", MAPS, config_map("big", "z" * padding))
    assert status == 422 and "1048576" in body["message"], body["message"][:200]  # read whole, then too long for a ConfigMap
    status, _, body = client.ask("POST", MAPS, config_map("big", "z" * (padding + 1)))
    assert status == 413 and body["message"] == "Request entity too large: limit is 3145728", (status, body)
    assert client.ask("GET", MAPS)[0] == 200  # the connection is still good
    client.close()


def the_user_agent_names_the_manager():
    _, _, body = ask("POST", MAPS, config_map("agent"), User_Agent="tool/v1 (linux)")
    assert body["metadata"]["managedFields"][0]["manager"] == "tool"
    assert ask("DELETE", f"{MAPS}/agent")[0] == 200


def one_may_act_as_another():
    review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    body = b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
    assert ask("POST", review, body)[2]["status"]["userInfo"]["username"] == "sandbox-admin"
    user = ask("POST", review, body, Impersonate_User="jane", Impersonate_Group="team")[2]["status"]["userInfo"]
    assert user["username"] == "jane" and "team" in user["groups"], user
    assert ask("GET", MAPS, Impersonate_Group="team")[0] == 400


def warnings_are_headers():
    body = json.dumps({"metadata": {"name": "warned"}, "data": {}, "nonsense": 1}).encode()
    status, headers, _ = ask("POST", MAPS + "?fieldValidation=Warn", body)
    assert status == 201 and headers["warning"] == '299 - "unknown field \\"nonsense\\""', headers
    assert ask("DELETE", f"{MAPS}/warned")[0] == 200


def answers_are_utf8_whatever_was_asked():
    review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    assert ask("GET", MAPS + "/A%ff")[2]["message"] == 'configmaps "A\ufffd" not found'
    assert ask("GET", MAPS + "?fieldSelector=%c3=a")[0] == 400
    _, _, body = ask("POST", MAPS + "?fieldManager=m%ff", config_map("bytes"), User_Agent="x")
    assert body["metadata"]["managedFields"][0]["manager"] == "m\ufffd", body
    assert ask("DELETE", f"{MAPS}/bytes")[0] == 200
    client = Client()
    client.socket.sendall(f"POST {PREFIX}{review} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Length: 2\r\n".encode() +
                          b"Content-Type: application/json\r\nImpersonate-User: j\xff\r\nImpersonate-Group: g\xff\r\n\r\n{}")
    _, headers = client.head()
    user = json.loads(client.take(int(headers["content-length"])))["status"]["userInfo"]
    assert user["username"] == "j\ufffd" and "g\ufffd" in user["groups"], user
    client.close()


def three_hundred_watches_see_the_same():
    version = ask("GET", MAPS)[2]["metadata"]["resourceVersion"]
    clients = [Client() for _ in range(300)]
    for client in clients:
        client.watch(f"{MAPS}?watch=true&resourceVersion={version}")
    for i in range(3):
        assert ask("POST", MAPS, config_map(f"seen-{i}"))[0] == 201
    want = [("ADDED", f"seen-{i}") for i in range(3)]
    for client in clients:
        got = [(e["type"], e["object"]["metadata"]["name"]) for e in client.events(3)]
        assert got == want, got
    before = descriptors()
    for client in clients:
        client.close()
    wait_for(lambda: descriptors() <= before - 300)  # also without another event
    for i in range(3):
        assert ask("DELETE", f"{MAPS}/seen-{i}")[0] == 200


def a_watch_ends_when_its_time_is_over():
    client = Client()
    client.watch(f"{MAPS}?watch=true&timeoutSeconds=1")
    while client.chunk():
        pass
    assert client.ask("GET", MAPS)[0] == 200
    client.close()


def who_does_not_read_loses_the_watch():
    client = Client(receive_bytes=4096)
    client.watch(f"{MAPS}?watch=true")
    before = descriptors()
    writer = Client()
    writer.ask("POST", MAPS, config_map("slow"))
    for i in range(40):  # each an event of half a MiB: the limit is 4 MiB
        status, _, _ = writer.ask("PUT", f"{MAPS}/slow", config_map("slow", str(i % 10) * 500000))
        assert status == 200
    wait_for(lambda: descriptors() <= before)  # the writer's stands for the watch's
    writer.ask("DELETE", f"{MAPS}/slow")
    writer.close()
    try:
        while client.chunk():
            pass
        raise AssertionError("the stream ended as if it were whole")
    except (EOFError, ConnectionError):
        client.close()


def what_is_held_for_slow_clients_has_a_limit():
    """Bodies that lack their last byte are kept, up to 256 MiB of them; of those beyond nothing is."""
    body = config_map("slow", "z" * (MAX_BODY - len(config_map("slow", ""))))
    clients = [Client() for _ in range(120)]
    for client in clients:
        client.send("POST", MAPS, body[:-1], Content_Length=str(len(body)))
    wait_for(lambda: unread_bytes() == 0)
    assert ask("GET", MAPS)[0] == 200  # others are served meanwhile
    answers = {}
    for client in clients:
        client.socket.sendall(body[-1:])
        status, headers = client.head()
        answers.setdefault(status, []).append(headers)
        client.close()
    assert set(answers) == {422, 429} and len(answers[422]) > 80, {k: len(v) for k, v in answers.items()}
    assert all(headers["retry-after"] == "1" for headers in answers[429])


def watches_that_lag_behind_share_that_limit():
    lagging = [Client(receive_bytes=4096) for _ in range(150)]
    for client in lagging:
        client.watch(f"{MAPS}?watch=true&fieldSelector=metadata.name=lag")
    reader, writer = Client(), Client()
    reader.watch(f"{MAPS}?watch=true&fieldSelector=metadata.name=lag")
    assert writer.ask("POST", MAPS, config_map("lag"))[0] == 201
    reader.events(1)
    before = descriptors()
    for i in range(6):  # the kernel takes some of it, and 4 MiB may wait for each watch: together too much
        wait_for(lambda: writer.ask("PUT", f"{MAPS}/lag", config_map("lag", str(i) * 1000000))[0] == 200)
        assert reader.events(1)[0]["object"]["data"]["key"][0] == str(i)
    wait_for(lambda: descriptors() < before - 10)
    for client in [*lagging, reader]:
        client.close()
    assert writer.ask("DELETE", f"{MAPS}/lag")[0] == 200
    writer.close()


def places_that_become_free_are_given_again():
    """More connections than the process may have descriptors come and go; who comes then is served."""
    limit = resource.prlimit(PID, resource.RLIMIT_NOFILE)
    resource.prlimit(PID, resource.RLIMIT_NOFILE, (descriptors() + 10, limit[1]))
    clients = [Client() for _ in range(50)]
    for client in clients:
        client.send("GET", MAPS)
    clients[0].head()
    for client in clients:
        client.close()
    assert ask("GET", MAPS)[0] == 200
    resource.prlimit(PID, resource.RLIMIT_NOFILE, limit)


def nonsense_harms_nobody():
    for text in b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00" * 1000, b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n":
        client = Client()
        client.socket.sendall(text)
        client.close()
    assert ask("GET", MAPS)[0] == 200
    for path in "", "/", "//", "/token", "/token/", "/api/v1/namespaces/%ff%00/configmaps", "/?" + "a=b&" * 300:
        assert ask("GET", path or "/")[0] in (200, 404), path
    assert ask("GET", "x", prefix="/token/")[0] == 401


for case in [f for f in list(globals().values()) if callable(f) and getattr(f, "__module__", "") == "__main__"]:
    if isinstance(case, type) or case.__name__ in ("ask", "config_map", "wait_for", "descriptors", "unread_bytes"):
        continue
    case()
    print("ok -", case.__name__, flush=True)
