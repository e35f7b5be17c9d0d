/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf bodies, written here field by field as gogo-protobuf writes them. */
#include "sandbox/protobuf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#define MAX_BYTES (64 * 1024)

struct world {
        struct type_table *types;
        struct arena *a;
        struct buf body;
        const struct value *object;
        struct err err;
};

static int setup(void **state) {
        struct world *w = mem_zalloc(sizeof *w);

        w->types = type_table_new();
        w->a = arena_new(0);
        *state = w;
        return 0;
}

static int teardown(void **state) {
        struct world *w = *state;

        type_table_free(w->types);
        arena_free(w->a);
        free(w);
        return 0;
}

/* ---- writing ---- */

static void add_varint(struct buf *out, uint64_t v) {
        for (; v > 0x7f; v >>= 7)
                buf_addch(out, (char)(0x80 | (v & 0x7f)));
        buf_addch(out, (char)v);
}

static struct str number(struct world *w, unsigned field, int64_t v) {
        _cleanup_(buf_done) struct buf out = buf_make(64);

        add_varint(&out, field << 3);
        add_varint(&out, (uint64_t)v);
        return arena_str(w->a, buf_str(&out));
}

static struct str bytes(struct world *w, unsigned field, struct str content) {
        _cleanup_(buf_done) struct buf out = buf_make(MAX_BYTES);

        add_varint(&out, field << 3 | 2);
        add_varint(&out, content.n);
        buf_add(&out, content);
        return arena_str(w->a, buf_str(&out));
}

static struct str join(struct world *w, struct str x, struct str y) {
        _cleanup_(buf_done) struct buf out = buf_make(MAX_BYTES);

        buf_add(&out, x);
        buf_add(&out, y);
        return arena_str(w->a, buf_str(&out));
}

static struct str envelope(struct world *w, const char *api_version, const char *kind, struct str message) {
        struct str meta = join(w, bytes(w, 1, str_from(api_version)), bytes(w, 2, str_from(kind)));

        return join(w, (struct str){ "k8s\0", 4 }, join(w, bytes(w, 1, meta), bytes(w, 2, message)));
}

static int read_body(struct world *w, struct str body) {
        w->err = (struct err){ 0 };
        return protobuf_read(body, w->types, w->a, &w->object, &w->err);
}

static void reads_as(struct world *w, struct str body, const char *json) {
        if (read_body(w, body) < 0)
                fail_msg("%s", w->err.msg);
        assert_string_equal(value_canonical(w->a, w->object).p, json);
}

/* ---- tests ---- */

static struct str config_map(struct world *w) {
        struct str entry = join(w, bytes(w, 1, STR("k")), bytes(w, 2, STR("v")));
        struct str binary = join(w, bytes(w, 1, STR("b")), bytes(w, 2, (struct str){ "\0\1", 2 }));
        struct str meta = join(w, bytes(w, 1, STR("web")), bytes(w, 8, bytes(w, 1, STR(""))));

        return envelope(
                w, "v1", "ConfigMap",
                join(w, bytes(w, 1, meta), join(w, bytes(w, 2, entry), join(w, bytes(w, 3, binary), number(w, 4, 1)))));
}

static void maps_bytes_and_flags_are_read(void **state) {
        struct world *w = *state;

        reads_as(w, config_map(w),
                 "{\"apiVersion\":\"v1\",\"binaryData\":{\"b\":\"AAE=\"},\"data\":{\"k\":\"v\"},\"immutable\":true,"
                 "\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"web\"}}");
}

static void fields_of_embedded_structs_stand_in_the_struct_around_them(void **state) {
        struct world *w = *state;
        struct str empty_dir = bytes(w, 2, bytes(w, 1, STR("Memory")));
        struct str volume = join(w, bytes(w, 1, STR("tmp")), bytes(w, 2, empty_dir));
        struct str port = join(w, number(w, 1, 1), bytes(w, 3, STR("http")));
        struct str probe =
                join(w, bytes(w, 1, bytes(w, 2, join(w, bytes(w, 1, STR("/")), bytes(w, 2, port)))), number(w, 4, -1));
        struct str limit = join(w, bytes(w, 1, STR("cpu")), bytes(w, 2, bytes(w, 1, STR("100m"))));
        struct str container =
                join(w, bytes(w, 1, STR("a")), join(w, bytes(w, 8, bytes(w, 1, limit)), bytes(w, 10, probe)));

        reads_as(w, envelope(w, "v1", "Pod", bytes(w, 2, join(w, bytes(w, 1, volume), bytes(w, 2, container)))),
                 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"livenessProbe\":{\"httpGet\":{"
                 "\"path\":"
                 "\"/"
                 "\",\"port\":\"http\"},\"periodSeconds\":-1},\"name\":\"a\",\"resources\":{\"limits\":{\"cpu\":"
                 "\"100m\"}}}],"
                 "\"volumes\":[{\"emptyDir\":{\"medium\":\"Memory\"},\"name\":\"tmp\"}]}}");
}

static void lists_keep_their_order_and_unknown_fields_are_passed_over(void **state) {
        struct world *w = *state;
        struct str meta = join(w, bytes(w, 14, STR("a")), join(w, bytes(w, 14, STR("b")), number(w, 4000, 7)));
        struct str times = bytes(w, 8, number(w, 1, 1800000000));

        reads_as(w, envelope(w, "v1", "ServiceAccount", bytes(w, 1, join(w, meta, times))),
                 "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"creationTimestamp\":"
                 "\"2027-01-15T08:00:00Z\",\"finalizers\":[\"a\",\"b\"]}}");
}

static void options_are_read_in_any_version(void **state) {
        struct world *w = *state;

        reads_as(w, envelope(w, "apps/v1", "DeleteOptions", bytes(w, 4, STR("Foreground"))),
                 "{\"apiVersion\":\"apps/v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":\"Foreground\"}");
}

static void what_is_no_such_body_is_refused(void **state) {
        struct world *w = *state;

        assert_int_equal(read_body(w, STR("")), ERR_PARSE);
        assert_int_equal(read_body(w, STR("{\"kind\":\"Pod\"}")), ERR_PARSE);
        assert_int_equal(read_body(w, envelope(w, "v1", "Nonsense", STR(""))), ERR_UNSUPPORTED);
        assert_int_equal(read_body(w, envelope(w, "v1", "ConfigMap", STR("\xff"))), ERR_PARSE);
        assert_int_equal(read_body(w, envelope(w, "v1", "ConfigMap", bytes(w, 1, bytes(w, 1, STR("\xff"))))),
                         ERR_PARSE);
}

static void nesting_has_a_limit(void **state) {
        struct world *w = *state;
        struct str props = STR("");

        for (unsigned i = 0; i < PROTOBUF_MAX_DEPTH + 1; i++)
                props = bytes(w, 28, props); /* not: a JSONSchemaProps in itself */
        struct str schema = bytes(w, 1, props), version = bytes(w, 4, schema);
        assert_int_equal(read_body(w, envelope(w, "apiextensions.k8s.io/v1", "CustomResourceDefinition",
                                               bytes(w, 2, bytes(w, 7, version)))),
                         ERR_LIMIT);
}

static void every_cut_and_every_flipped_byte_is_survived(void **state) {
        struct world *w = *state;
        struct str whole = config_map(w);

        for (size_t n = 0; n < whole.n; n++) {
                char *cut = str_dup(str_sub(whole, 0, n)), *flipped = str_dup(whole);

                read_body(w, (struct str){ cut, n });
                for (unsigned bit = 0; bit < 8; bit++) {
                        flipped[n] = (char)(whole.p[n] ^ 1 << bit);
                        read_body(w, (struct str){ flipped, whole.n });
                }
                free(cut);
                free(flipped);
        }
        assert_int_equal(read_body(w, whole), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(maps_bytes_and_flags_are_read),
                TEST(fields_of_embedded_structs_stand_in_the_struct_around_them),
                TEST(lists_keep_their_order_and_unknown_fields_are_passed_over),
                TEST(options_are_read_in_any_version),
                TEST(what_is_no_such_body_is_refused),
                TEST(nesting_has_a_limit),
                TEST(every_cut_and_every_flipped_byte_is_survived),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
