/* SPDX-License-Identifier: Apache-2.0 */
#include "git/pkt.h"

/* A growing list in one heap block; copied to the arena at the end. */
struct ref_vec {
        struct git_ref *refs;
        size_t n, cap;
};

static void ref_vec_done(struct ref_vec *v) {
        free(v->refs);
}

static struct git_ref_list ref_vec_give(const struct ref_vec *v, struct arena *a) {
        struct git_ref *refs = arena_alloc(a, v->n * sizeof *refs);

        if (v->n)
                memcpy(refs, v->refs, v->n * sizeof *refs);
        return (struct git_ref_list){ refs, v->n };
}

static struct git_ref *ref_vec_push(struct ref_vec *v) {
        v->refs = mem_grow(v->refs, &v->cap, v->n + 1, sizeof *v->refs);
        v->refs[v->n] = (struct git_ref){ 0 };
        return &v->refs[v->n++];
}

static int malformed(struct err *err) {
        return err_set(err, ERR_PARSE, "the server's list of refs is malformed");
}

static int hex4(const char *p) {
        int n = 0;

        for (int i = 0; i < 4; i++) {
                char c = p[i];

                if (c >= '0' && c <= '9')
                        n = n * 16 + (c - '0');
                else if ((c | 32) >= 'a' && (c | 32) <= 'f')
                        n = n * 16 + ((c | 32) - 'a' + 10);
                else
                        return -1;
        }
        return n;
}

int pkt_next(struct str *rest, enum pkt_kind *ret_kind, struct str *ret_data, struct err *err) {
        static const enum pkt_kind special[] = { PKT_FLUSH, PKT_DELIM, PKT_END };
        int n = rest->n < 4 ? -1 : hex4(rest->p);

        if (n < 0 || n == 3 || n > PKT_MAX_BYTES || (size_t)n > rest->n)
                return malformed(err);
        if (n < 3) {
                *ret_kind = special[n];
                *ret_data = STR("");
                *rest = str_sub(*rest, 4, rest->n);
                return 0;
        }

        struct str data = str_sub(*rest, 4, (size_t)n);
        if (str_ends(data, STR("\n")))
                data.n--;
        *ret_kind = PKT_DATA;
        *ret_data = data;
        *rest = str_sub(*rest, (size_t)n, rest->n);
        return 0;
}

void pkt_add(struct buf *b, struct str data) {
        buf_addf(b, "%04x", (unsigned)data.n + 4);
        buf_add(b, data);
}

void pkt_add_ls_refs(struct buf *b, const struct str *prefixes, size_t count) {
        pkt_add(b, STR("command=ls-refs\n"));
        buf_addc(b, "0001");
        pkt_add(b, STR("peel\n"));
        pkt_add(b, STR("symrefs\n"));
        for (size_t i = 0; i < count; i++) {
                _cleanup_(buf_done) struct buf line = buf_make(GIT_REVISION_MAX_BYTES + 64);

                buf_addf(&line, "ref-prefix %.*s\n", STR_FMT(prefixes[i]));
                pkt_add(b, buf_str(&line));
        }
        buf_addc(b, "0000");
}

/* The server's own words, made safe for one line of a terminal. */
static int server_said(struct str text, struct err *err) {
        char shown[256];
        size_t n = 0;

        for (size_t i = 0; i < text.n && n < sizeof shown - 1; i++) {
                unsigned char c = (unsigned char)text.p[i];

                shown[n++] = c < 0x20 || c >= 0x7f ? ' ' : (char)c;
        }
        shown[n] = '\0';
        return err_set(err, ERR_NOTFOUND, "the server says: %s", shown);
}

static int refuse_sha256(struct err *err) {
        return err_set(
                err, ERR_UNSUPPORTED,
                "the repository uses SHA-256 object names, which libgit2 cannot read: only SHA-1 repositories work");
}

/* A name that a ref can have; others are skipped, since no revision word can name them. */
static bool is_ref_name(struct str name) {
        if (!str_eq(name, STR("HEAD")) && !str_starts(name, STR("refs/")))
                return false;
        for (size_t i = 0; i < name.n; i++) {
                unsigned char c = (unsigned char)name.p[i];

                if (c <= 0x20 || c == 0x7f || strchr("~^:?*[\\", c))
                        return false;
        }
        return name.n <= GIT_REVISION_MAX_BYTES;
}

/* "OID NAME" with `sep` between; false when malformed. */
static bool split_ref(struct str line, struct git_id *ret_id, struct str *ret_rest) {
        if (line.n < GIT_OID_HEX_BYTES + 2 || line.p[GIT_OID_HEX_BYTES] != ' ' ||
            !git_id_from_hex(str_sub(line, 0, GIT_OID_HEX_BYTES), ret_id))
                return false;
        *ret_rest = str_sub(line, GIT_OID_HEX_BYTES + 1, line.n);
        return true;
}

/* The capabilities behind the first ref of v0: only the name of the hash and where HEAD points matter here. */
static int read_v0_capabilities(struct str caps, struct str *ret_head, struct err *err) {
        struct str word;

        while (str_next(&caps, ' ', &word)) {
                if (str_starts(word, STR("object-format=")) && !str_eq(word, STR("object-format=sha1")))
                        return refuse_sha256(err);
                if (str_starts(word, STR("symref=HEAD:")))
                        *ret_head = str_sub(word, 12, word.n);
        }
        return 0;
}

static void set_head_target(struct ref_vec *v, struct str target, struct arena *a) {
        if (!is_ref_name(target))
                return;
        for (size_t i = 0; i < v->n; i++) {
                if (str_eq(v->refs[i].name, STR("HEAD")))
                        v->refs[i].target = arena_str(a, target);
        }
}

/* One line of a v0 advertisement. The peeled value of an annotated tag follows the tag as "NAME^{}". */
static int add_v0_line(struct ref_vec *v, struct str line, struct arena *a, struct err *err) {
        struct git_id id;
        struct str name;

        if (!split_ref(line, &id, &name))
                return malformed(err);
        if (str_eq(name, STR("capabilities^{}"))) /* an empty repository */
                return 0;
        if (str_ends(name, STR("^{}"))) {
                struct str tag = str_sub(name, 0, name.n - 3);

                if (v->n > 0 && str_eq(v->refs[v->n - 1].name, tag))
                        v->refs[v->n - 1].peeled = id;
                return 0;
        }
        if (is_ref_name(name)) {
                struct git_ref *ref = ref_vec_push(v);

                ref->name = arena_str(a, name);
                ref->id = id;
        }
        return 0;
}

static int parse_v0(struct str rest, struct str line, struct arena *a, struct ref_vec *v, struct err *err) {
        ptrdiff_t nul = str_find(line, '\0', 0);
        enum pkt_kind kind = PKT_DATA;
        struct str head = STR("");
        int r = 0;

        if (nul >= 0) {
                r = read_v0_capabilities(str_sub(line, (size_t)nul + 1, line.n), &head, err);
                line = str_sub(line, 0, (size_t)nul);
        }
        while (r == 0 && kind == PKT_DATA) {
                r = str_starts(line, STR("shallow ")) ? 0 : add_v0_line(v, line, a, err);
                if (r == 0)
                        r = pkt_next(&rest, &kind, &line, err);
        }
        if (r == 0)
                set_head_target(v, head, a);
        return r;
}

static int parse_v2_capabilities(struct str rest, struct err *err) {
        enum pkt_kind kind;
        struct str line;
        int r;

        while ((r = pkt_next(&rest, &kind, &line, err)) == 0 && kind == PKT_DATA) {
                if (str_starts(line, STR("object-format=")) && !str_eq(line, STR("object-format=sha1")))
                        return refuse_sha256(err);
        }
        return r;
}

int pkt_parse_advert(struct str body, struct arena *a, struct pkt_advert *ret, struct err *err) {
        _cleanup_(ref_vec_done) struct ref_vec v = { 0 };
        struct pkt_advert advert = { 0 };
        enum pkt_kind kind;
        struct str line;
        int r = pkt_next(&body, &kind, &line, err);

        /* The HTTP header packets; some servers leave them out for v2. */
        if (r == 0 && kind == PKT_DATA && str_starts(line, STR("# service="))) {
                r = pkt_next(&body, &kind, &line, err);
                if (r == 0 && kind == PKT_FLUSH)
                        r = pkt_next(&body, &kind, &line, err);
        }
        if (r == 0 && kind == PKT_DATA && str_eq(line, STR("version 1")))
                r = pkt_next(&body, &kind, &line, err);
        if (r < 0)
                return r;

        if (kind == PKT_DATA && str_starts(line, STR("ERR ")))
                return server_said(str_sub(line, 4, line.n), err);
        advert.v2 = kind == PKT_DATA && str_eq(line, STR("version 2"));
        if (advert.v2)
                r = parse_v2_capabilities(body, err);
        else if (kind == PKT_DATA)
                r = parse_v0(body, line, a, &v, err);
        if (r < 0)
                return r;
        advert.refs = ref_vec_give(&v, a);
        *ret = advert;
        return 0;
}

/* "OID NAME[ symref-target:…][ peeled:OID]" */
static int add_v2_line(struct ref_vec *v, struct str line, struct arena *a, struct err *err) {
        struct git_ref ref = { 0 };
        struct str rest, word;

        if (str_starts(line, STR("unborn ")))
                return 0;
        if (!split_ref(line, &ref.id, &rest) || !str_next(&rest, ' ', &word))
                return malformed(err);
        if (!is_ref_name(word))
                return 0;
        ref.name = arena_str(a, word);
        while (str_next(&rest, ' ', &word)) {
                if (str_starts(word, STR("peeled:")) && !git_id_from_hex(str_sub(word, 7, word.n), &ref.peeled))
                        return malformed(err);
                if (str_starts(word, STR("symref-target:")) && is_ref_name(str_sub(word, 14, word.n)))
                        ref.target = arena_str(a, str_sub(word, 14, word.n));
        }
        *ref_vec_push(v) = ref;
        return 0;
}

int pkt_parse_ls_refs(struct str body, struct arena *a, struct git_ref_list *ret, struct err *err) {
        _cleanup_(ref_vec_done) struct ref_vec v = { 0 };
        enum pkt_kind kind;
        struct str line;
        int r;

        while ((r = pkt_next(&body, &kind, &line, err)) == 0 && kind == PKT_DATA) {
                if (str_starts(line, STR("ERR ")))
                        return server_said(str_sub(line, 4, line.n), err);
                r = add_v2_line(&v, line, a, err);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        *ret = ref_vec_give(&v, a);
        return 0;
}
