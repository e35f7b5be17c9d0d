#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# For tests: TLS in front of a plain server on loopback, by certificates of a private authority that it makes itself.
#
#   tls_front.py DIR PORT     writes into DIR: ca.pem; client.pem, client.key (of that authority); other.pem, other.key (of
#                             themselves); and then `ports`: two ports, of which the first wants a client's certificate
import os, socket, ssl, subprocess, sys, threading

folder, backend = sys.argv[1], int(sys.argv[2])
os.chdir(folder)


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def certificate(name, subject, *more):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-keyout", name + ".key", "-out", name + ".pem", "-subj", "/CN=" + subject, *more)


def signed(name, subject, names):
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name + ".key",
            "-out", name + ".csr", "-subj", "/CN=" + subject)
    with open(name + ".ext", "w") as f:
        f.write("subjectAltName=" + names + "\n")
    openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", name + ".ext", "-out", name + ".pem")


def pump(source, sink):
    try:
        while True:
            piece = source.recv(65536)
            if not piece:
                break
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(plain, context):
    try:
        with context.wrap_socket(plain, server_side=True) as front, socket.create_connection(("127.0.0.1", backend)) as back:
            up = threading.Thread(target=pump, args=(front, back), daemon=True)
            up.start()
            pump(back, front)
    except OSError:
        pass


def listen(wants_certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("server.pem", "server.key")
    if wants_certificate:
        context.load_verify_locations("ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0], context), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


certificate("ca", "a private authority")
certificate("other", "somebody else")
signed("server", "localhost", "IP:127.0.0.1,DNS:localhost")
signed("client", "deploy", "DNS:deploy.example.com")
with open("ports.new", "w") as f:
    f.write("%d %d\n" % (listen(True), listen(False)))
os.rename("ports.new", "ports")
threading.Event().wait()
