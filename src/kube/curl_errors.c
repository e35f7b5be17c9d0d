/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "kube/curl_impl.h"

/* What a CURLcode means for a person. Certificate trouble is told apart: it is the user's to mend, and says with what. */
static const struct meaning {
        CURLcode result;
        enum err_code code;
        const char *text;
        bool names_ca;
} meanings[] = {
        { CURLE_COULDNT_RESOLVE_HOST, ERR_UNREACHABLE, "the host name does not resolve", false },
        { CURLE_COULDNT_RESOLVE_PROXY, ERR_UNREACHABLE, "the proxy's name does not resolve", false },
        { CURLE_COULDNT_CONNECT, ERR_UNREACHABLE, "cannot connect", false },
        { CURLE_OPERATION_TIMEDOUT, ERR_UNREACHABLE, "cannot connect in time", false },
        { CURLE_PEER_FAILED_VERIFICATION, ERR_UNREACHABLE, "the server's certificate is not trusted", true },
        { CURLE_SSL_ISSUER_ERROR, ERR_UNREACHABLE, "the server's certificate is not trusted", true },
        { CURLE_SSL_CACERT_BADFILE, ERR_UNAUTH, "the certificate authority cannot be read", true },
        { CURLE_SSL_CERTPROBLEM, ERR_UNAUTH, "the client certificate cannot be used", false },
        { CURLE_SSL_CONNECT_ERROR, ERR_UNREACHABLE, "the TLS handshake failed", false },
        { CURLE_GOT_NOTHING, ERR_UNREACHABLE, "the connection was closed before an answer came", false },
        { CURLE_PARTIAL_FILE, ERR_UNREACHABLE, "the connection was closed before the whole answer came", false },
        { CURLE_SEND_ERROR, ERR_UNREACHABLE, "the connection broke while sending", false },
        { CURLE_RECV_ERROR, ERR_UNREACHABLE, "the connection broke before the whole answer came", false },
        { CURLE_HTTP2, ERR_UNREACHABLE, "the HTTP/2 connection broke", false },
        { CURLE_HTTP2_STREAM, ERR_UNREACHABLE, "the server broke the stream off", false },
        { CURLE_ABORTED_BY_CALLBACK, ERR_UNREACHABLE, "the connection broke; whether the request was acted on is unknown",
          false },
        { CURLE_WEIRD_SERVER_REPLY, ERR_UNREACHABLE, "what answers does not speak HTTP", false },
        { CURLE_UNSUPPORTED_PROTOCOL, ERR_UNREACHABLE, "what answers does not speak HTTP", false },
        { CURLE_BAD_CONTENT_ENCODING, ERR_UNREACHABLE, "the answer's compression is damaged", false },
        { CURLE_OUT_OF_MEMORY, ERR_INTERNAL, "out of memory", false },
};

static const struct meaning *meaning_of(CURLcode result) {
        static const struct meaning other = { CURLE_OK, ERR_UNREACHABLE, "the exchange failed", false };

        for (size_t i = 0; i < ARRAY_LEN(meanings); i++)
                if (meanings[i].result == result)
                        return &meanings[i];
        return &other;
}

static const char *ca_of(const struct kube_config *config) {
        return config->ca.origin ? config->ca.origin : "the system's CA bundle";
}

/* "Connection refused" beats curl's "Failed to connect to … after 0 ms: Couldn't connect to server". */
static const char *detail_of(const struct kube_call *call, CURLcode result, char *buf, size_t size) {
        long sys_errno = 0;

        if (result == CURLE_COULDNT_CONNECT && call->easy)
                (void)curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &sys_errno);
        if (sys_errno)
                return strerror_r((int)sys_errno, buf, size);
        return call->detail && call->detail[0] ? call->detail : curl_easy_strerror(result);
}

void call_fail_curl(struct kube_call *call, CURLcode result) {
        const struct kube_config *config = call->transport->config;
        const struct meaning *m = meaning_of(result);
        char reason[128];
        const char *detail = detail_of(call, result, reason, sizeof reason);

        if (m->names_ca)
                call_fail(call, m->code, "%s: %s: %s (trusted: %s)", config->shown, m->text, detail, ca_of(config));
        else if (result == CURLE_SSL_CERTPROBLEM && config->client_cert.origin)
                call_fail(call, m->code, "%s: %s: %s (%s)", config->shown, m->text, detail,
                          config->client_cert.origin);
        else if (result == CURLE_ABORTED_BY_CALLBACK)
                call_fail(call, m->code, "%s: %s", config->shown, m->text);
        else
                call_fail(call, m->code, "%s: %s: %s", config->shown, m->text, detail);
}
