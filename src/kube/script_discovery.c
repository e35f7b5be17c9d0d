/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/script_transport.h"

#include "base/arena.h"
#include "base/limits.h"
#include "kube/gvk.h"

/* One line of script_serve_discovery(), in words. */
struct entry {
        struct gvk gvk;
        struct str plural;
        bool namespaced, has_status, has_scale, no_watch;
        struct buf short_names; /* a JSON list's content */
};

static void take_word(struct entry *e, struct str word) {
        if (str_eqc(word, "status"))
                e->has_status = true;
        else if (str_eqc(word, "scale"))
                e->has_scale = true;
        else if (str_eqc(word, "nowatch"))
                e->no_watch = true;
        else if (word.n)
                buf_addf(&e->short_names, "%s\"%.*s\"", e->short_names.n ? "," : "", STR_FMT(word));
}

static struct entry read_entry(struct str line) {
        struct str api_version = { 0 }, kind = { 0 }, scope = { 0 }, word;
        struct entry e = { .short_names = buf_make(4 * KIB) };

        str_next(&line, ' ', &api_version);
        str_next(&line, ' ', &kind);
        str_next(&line, ' ', &e.plural);
        str_next(&line, ' ', &scope);
        e.gvk = gvk_from(api_version, kind);
        e.namespaced = str_eqc(scope, "namespaced");
        while (str_next(&line, ' ', &word))
                take_word(&e, word);
        return e;
}

static void add_subresource(struct buf *out, const char *before, const char *name) {
        buf_addf(out, "%s{\"subresource\":\"%s\",\"responseKind\":{\"kind\":\"\"},\"verbs\":[\"get\",\"patch\"]}",
                 before, name);
}

static void add_resource(struct buf *out, const struct entry *e) {
        buf_addf(out,
                 "{\"resource\":\"%.*s\",\"responseKind\":{\"group\":\"%.*s\",\"version\":\"%.*s\",\"kind\":\"%.*s\"},",
                 STR_FMT(e->plural), STR_FMT(e->gvk.group), STR_FMT(e->gvk.version), STR_FMT(e->gvk.kind));
        buf_addf(out, "\"scope\":\"%s\",\"singularResource\":\"\",\"shortNames\":[%s],", //
                 e->namespaced ? "Namespaced" : "Cluster", e->short_names.p);
        buf_addf(out, "\"verbs\":[\"create\",\"delete\",\"get\",\"list\",\"patch\",\"update\"%s],\"subresources\":[",
                 e->no_watch ? "" : ",\"watch\"");
        if (e->has_status)
                add_subresource(out, "", "status");
        if (e->has_scale)
                add_subresource(out, e->has_status ? "," : "", "scale");
        buf_addc(out, "]}");
}

/* One item per line: the reader joins items of equal group, as a server would not write them but may. */
static void add_item(struct buf *out, const struct entry *e) {
        buf_addf(out,
                 "{\"metadata\":{\"name\":\"%.*s\"},\"versions\":[{\"version\":\"%.*s\",\"freshness\":\"Current\",",
                 STR_FMT(e->gvk.group), STR_FMT(e->gvk.version));
        buf_addc(out, "\"resources\":[");
        add_resource(out, e);
        buf_addc(out, "]}]}");
}

static void serve(struct script *s, const char *lines, bool core, const char *path) {
        _cleanup_(buf_done) struct buf body = buf_make(KUBE_MAX_REPLY_BYTES);
        struct str rest = str_from(lines), line;
        const char *before = "";

        buf_addc(&body, "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"items\":[");
        while (str_next(&rest, '\n', &line)) {
                struct entry e = read_entry(str_trim(line));

                if (e.plural.n && (e.gvk.group.n == 0) == core) {
                        buf_addc(&body, before);
                        add_item(&body, &e);
                        before = ",";
                }
                buf_done(&e.short_names);
        }
        buf_addc(&body, "]}");

        script_on(s, KUBE_GET, path,
                  &(struct script_answer){
                          .content_type = STR("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
                          .body = buf_str(&body),
                  });
}

void script_serve_discovery(struct script *s, const char *lines) {
        serve(s, lines, true, "/api");
        serve(s, lines, false, "/apis");
}
