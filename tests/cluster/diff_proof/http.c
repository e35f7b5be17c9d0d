/* SPDX-License-Identifier: Apache-2.0 */
#include "http.h"

#include <curl/curl.h>

#include "base/limits.h"

struct http {
        CURLM *multi;
        char *server, *ca_file, *authorization;
        size_t running;
};

struct call {
        struct http_request *request;
        struct curl_slist *headers;
};

static void give_up(const char *what) {
        fprintf(stderr, "diff_proof: %s\n", what);
        exit(1);
}

struct http *http_new(const char *server, const char *ca_file, const char *token) {
        struct http *h = mem_zalloc(sizeof *h);
        struct buf authorization = buf_make(CONFIG_MAX_TOKEN_BYTES);

        if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0 || !(h->multi = curl_multi_init()))
                give_up("curl cannot start");
        curl_multi_setopt(h->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
        curl_multi_setopt(h->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, 2L);
        buf_addf(&authorization, "Authorization: Bearer %s", token);
        h->authorization = buf_take(&authorization);
        h->server = str_dup(str_from(server));
        h->ca_file = str_dup(str_from(ca_file));
        return h;
}

void http_free(struct http *h) {
        curl_multi_cleanup(h->multi);
        curl_global_cleanup();
        free(h->server);
        free(h->ca_file);
        free(h->authorization);
        free(h);
}

static size_t take_bytes(char *p, size_t size, size_t count, void *ctx) {
        struct http_request *r = ctx;

        buf_add(&r->answer, (struct str){ p, size * count });
        return r->answer.overflow ? 0 : size * count;
}

static void start(struct http *h, struct http_request *r) {
        struct call *c = mem_zalloc(sizeof *c);
        CURL *easy = curl_easy_init();
        struct buf url = buf_make(KUBE_MAX_PATH_BYTES), type = buf_make(256);

        r->answer = buf_make(KUBE_MAX_REPLY_BYTES);
        r->status = 0;
        c->request = r;
        buf_addf(&url, "%s%s", h->server, r->path.p);
        buf_addf(&type, "Content-Type: %s", r->content_type ? r->content_type : "application/json");
        c->headers = curl_slist_append(NULL, h->authorization);
        c->headers = curl_slist_append(c->headers, type.p);
        curl_easy_setopt(easy, CURLOPT_URL, url.p);
        curl_easy_setopt(easy, CURLOPT_CAINFO, h->ca_file);
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, c->headers);
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
        curl_easy_setopt(easy, CURLOPT_TIMEOUT, 60L);
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, r->method);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, r);
        curl_easy_setopt(easy, CURLOPT_PRIVATE, c);
        if (r->body.n) {
                curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.n);
                curl_easy_setopt(easy, CURLOPT_POSTFIELDS, r->body.p);
        }
        curl_multi_add_handle(h->multi, easy);
        h->running++;
        buf_done(&url);
        buf_done(&type);
}

static void finish(struct http *h, CURL *easy, CURLcode result) {
        struct call *c;
        long status = 0;

        curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&c);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        c->request->status = result == CURLE_OK ? (int)status : 0;
        curl_multi_remove_handle(h->multi, easy);
        curl_slist_free_all(c->headers);
        curl_easy_cleanup(easy);
        free(c);
        h->running--;
}

static void collect(struct http *h) {
        CURLMsg *m;
        int left;

        while ((m = curl_multi_info_read(h->multi, &left)))
                if (m->msg == CURLMSG_DONE)
                        finish(h, m->easy_handle, m->data.result);
}

void http_batch(struct http *h, struct http_request *const *requests, size_t count) {
        size_t next = 0;
        int active;

        while (next < count || h->running) {
                while (next < count && h->running < HTTP_IN_FLIGHT)
                        start(h, requests[next++]);
                curl_multi_perform(h->multi, &active);
                collect(h);
                if (h->running)
                        curl_multi_poll(h->multi, NULL, 0, 1000, NULL);
        }
}
