/* SPDX-License-Identifier: Apache-2.0 */
#include "own_test.h"

#include "own/path_read.h"
#include "arena_test.h"

static struct field_path path(const char *text) {
        struct field_path p;
        struct err err = { 0 };

        assert_int_equal(field_path_read(str_from(text), a, &p, &err), 0);
        return p;
}

static struct str spelled(struct field_path p) {
        _cleanup_(buf_done) struct buf b = buf_make(64 * 1024);

        field_path_spell(p, &b);
        return arena_str(a, buf_str(&b));
}

static struct path_element element(const char *text) {
        struct path_element e;

        assert_int_equal(path_element_parse(quoted(a, text), a, &e, NULL), 0);
        return e;
}

static void what_the_server_prints_is_read(void **state) {
        static const char *const texts[] = {
                ".spec.replicas",
                ".spec.template.spec.containers[name=\"api\"].env[name=\"REGION\"].value",
                ".spec.ports[port=80,protocol=\"TCP\"].nodePort",
                ".metadata.finalizers[=\"example.com/x\"]",
                ".list[0].a",
                ".items[on=true,size=-1.5]",
                ".env[name=\"say \\\"]\\\"\"]",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                assert_text(field_path_text(a, path(texts[i])), texts[i]);
        struct field_path p = path(texts[1]);
        assert_int_equal(p.count, 8);
        assert_int_equal(path_element_cmp(&p.elements[4], &(struct path_element[]){ element("k:{'name':'api'}") }[0]), 0);
}

static void the_leading_dot_may_be_left_out_and_keys_come_in_any_order(void **state) {
        (void)state;
        assert_true(field_path_equal(path("spec.replicas"), path(".spec.replicas")));
        assert_true(field_path_equal(path(".p[protocol=\"TCP\",port=80]"), path(".p[port=80,protocol=\"TCP\"]")));
}

static void a_pointer_is_read(void **state) {
        (void)state;
        struct field_path p = path("/metadata/annotations/example.com~1a.b");

        assert_int_equal(p.count, 3);
        assert_text(p.elements[2].name, "example.com/a.b");
}

static void assert_refused(const char *text, int code, const char *hint) {
        struct field_path p;
        struct err err = { 0 };

        assert_int_equal(field_path_read(str_from(text), a, &p, &err), code);
        if (!strstr(err.msg, hint))
                fail_msg("%s: \"%s\" lacks \"%s\"", text, err.msg, hint);
}

static void what_is_no_path_is_refused_with_a_hint(void **state) {
        _cleanup_(mem_freep) char *long_text = mem_zalloc(FIELD_PATH_MAX_BYTES + 2);

        (void)state;
        assert_refused("", ERR_INVAL, "leave it out");
        assert_refused("/spec/containers/0/image", ERR_INVAL, ".spec.containers[name=\"api\"]");
        assert_refused("/spec/finalizers/-", ERR_INVAL, "cannot name list items");
        assert_refused("/a~2b", ERR_INVAL, "");
        assert_refused("spec.template…containers[web].image", ERR_INVAL, "give the whole path");
        assert_refused(".containers[web].image", ERR_INVAL, "[key=\"value\"]");
        assert_refused(".containers[*].image", ERR_INVAL, "wildcards");
        assert_refused(".containers[name=web]", ERR_INVAL, "JSON");
        assert_refused(".containers[name={}]", ERR_INVAL, "JSON");
        assert_refused(".containers[name=]", ERR_INVAL, "JSON");
        assert_refused(".containers[name=\"a\"", ERR_INVAL, "missing");
        assert_refused(".containers[name=\"a", ERR_INVAL, "JSON");
        assert_refused(".containers[name=\"a\\", ERR_INVAL, "JSON");
        assert_refused(".containers[", ERR_INVAL, "in brackets");
        assert_refused(".containers[]", ERR_INVAL, "in brackets");
        assert_refused(".containers[-1]", ERR_INVAL, "in brackets");
        assert_refused(".p[a=1,a=2]", ERR_INVAL, "twice");
        assert_refused(".p[a=1]b", ERR_INVAL, "a dot or a bracket");
        assert_refused(".p[=null]", ERR_INVAL, "null");
        assert_refused(".p\xbd\"x", ERR_INVAL, "UTF-8");
        memset(long_text, 'a', FIELD_PATH_MAX_BYTES);
        path(long_text);
        long_text[FIELD_PATH_MAX_BYTES] = 'a';
        assert_refused(long_text, ERR_LIMIT, "more than");
}

static struct field_path labels(const char *name) {
        return field_path_join(a, dotted(a, "metadata.labels"), path_field(str_from(name)));
}

static void a_name_with_dots_is_covered_by_its_printed_text(void **state) {
        struct field_path real = labels("app.kubernetes.io/name"), deep = dotted(a, "metadata.labels.app.kubernetes.io/name");

        (void)state;
        struct field_path split = path(".metadata.labels.app.kubernetes.io/name");
        assert_int_equal(field_pattern_fit(split, real), PATTERN_COVERS);
        assert_int_equal(field_pattern_fit(split, deep), PATTERN_COVERS);
        assert_int_equal(field_pattern_fit(split, labels("app.kubernetes.io/names")), PATTERN_APART);
        assert_int_equal(field_pattern_fit(path(".metadata.labels.app"), real), PATTERN_APART);

        struct field_path whole = path(".metadata.labels[\"app.kubernetes.io/name\"]");
        assert_true(field_path_equal(whole, real));
        assert_int_equal(field_pattern_fit(whole, real), PATTERN_COVERS);
        assert_int_equal(field_pattern_fit(whole, deep), PATTERN_APART);

        assert_int_equal(field_pattern_fit(path(".data..env"), field_path_join(a, dotted(a, "data"), path_field(STR(".env")))),
                         PATTERN_COVERS);
}

static void a_pattern_covers_what_is_below_and_knows_what_is_above(void **state) {
        struct field_path pattern = path(".spec.containers[name=\"api\"]");

        (void)state;
        assert_int_equal(field_pattern_fit(pattern, pattern), PATTERN_COVERS);
        assert_int_equal(field_pattern_fit(pattern, path(".spec.containers[name=\"api\"].image")), PATTERN_COVERS);
        assert_int_equal(field_pattern_fit(pattern, path(".spec.containers[name=\"web\"].image")), PATTERN_APART);
        assert_int_equal(field_pattern_fit(pattern, path(".spec")), PATTERN_BELOW);
        assert_int_equal(field_pattern_fit(pattern, path(".spec.initContainers")), PATTERN_APART);
        assert_int_equal(field_pattern_fit(path(".a[=\"x\"]"), path(".a[0]")), PATTERN_APART);
        assert_int_equal(field_pattern_fit(path(".a[=\"x\"]"), path(".a[=\"x\"]")), PATTERN_COVERS);
}

static void a_pattern_need_not_say_all_keys(void **state) {
        struct field_path item = path(".ports[containerPort=80,protocol=\"TCP\"].name");

        (void)state;
        assert_int_equal(field_pattern_fit(path(".ports[containerPort=80]"), item), PATTERN_COVERS);
        assert_int_equal(field_pattern_fit(path(".ports[containerPort=81]"), item), PATTERN_APART);
        assert_int_equal(field_pattern_fit(item, path(".ports[containerPort=80].name")), PATTERN_APART);
}

static void real_paths_are_found_in_an_object(void **state) {
        const struct value *v = json(a, "{'metadata':{'labels':{'a.b':'1','a':{'b':'2'}}},'spec':{'template':{'spec':{"
                                        "'containers':[{'name':'c','ports':[{'containerPort':80},{'containerPort':80,"
                                        "'protocol':'UDP'}]}]}}},'plain':[{'id':1,'x':2},{'id':2}]}");
        const struct schema *type = schema_builtin(a, STR("apps/v1"), STR("Deployment"));
        struct path_list list = { 0 };

        (void)state;
        field_pattern_find(path(".metadata.labels.a.b"), v, type, a, &list);
        assert_int_equal(list.count, 2);
        field_pattern_find(path(".metadata.labels.a.b"), v, type, a, &list);
        assert_int_equal(list.count, 2);

        list.count = 0;
        field_pattern_find(path(".spec.template.spec.containers[name=\"c\"].ports[containerPort=80]"), v, type, a, &list);
        assert_int_equal(list.count, 2);
        assert_text(field_path_text(a, list.paths[0]),
                    ".spec.template.spec.containers[name=\"c\"].ports[containerPort=80,protocol=\"TCP\"]");

        list.count = 0;
        field_pattern_find(path(".plain[id=1].x"), v, NULL, a, &list);
        assert_int_equal(list.count, 1);
        field_pattern_find(path(".plain[id=3].x"), v, NULL, a, &list);
        field_pattern_find(path(".plain.x"), v, NULL, a, &list);
        assert_int_equal(list.count, 1);

        /* An index names an item of a list without keys, and none of a keyed one. */
        list.count = 0;
        field_pattern_find(path(".plain[1].id"), v, NULL, a, &list);
        assert_int_equal(list.count, 1);
        assert_text(field_path_text(a, list.paths[0]), ".plain[1].id");
        field_pattern_find(path(".plain[2].id"), v, NULL, a, &list);
        field_pattern_find(path(".spec.template.spec.containers[0].name"), v, type, a, &list);
        assert_int_equal(list.count, 1);
}

static void real_paths_are_found_in_a_set(void **state) {
        const struct fieldset *owned = set(a, "{'f:metadata':{'f:labels':{'f:a.b':{}}},'f:list':{'k:{\\'n\\':\\'x\\'}':{'.':{},"
                                              "'f:v':{}}}}");
        struct path_list list = { 0 };

        (void)state;
        field_pattern_find_in(path(".metadata.labels.a.b"), owned, a, &list);
        field_pattern_find_in(path(".list"), owned, a, &list);
        field_pattern_find_in(path(".list[n=\"x\"].v"), owned, a, &list);
        field_pattern_find_in(path(".list[n=\"y\"]"), owned, a, &list);
        field_pattern_find_in(path(".nowhere"), owned, a, &list);
        assert_int_equal(list.count, 3);
        assert_text(list.paths[0].elements[2].name, "a.b");
        assert_int_equal(list.paths[1].count, 1);
}

/* A small generator of our own, so that a failure is the same everywhere. */
static unsigned seed;

static unsigned upto(unsigned n) {
        seed = seed * 1103515245 + 12345;
        return (seed >> 16) % n;
}

static struct str random_name(const char *letters) {
        char text[8];
        size_t n = upto(7);

        for (size_t i = 0; i < n; i++)
                text[i] = letters[upto((unsigned)strlen(letters))];
        return arena_str(a, (struct str){ text, n });
}

static const struct value *random_scalar(void) {
        switch (upto(4)) {
        case 0:
                return value_int(a, (int64_t)upto(100) - 50, 0);
        case 1:
                return value_bool(a, upto(2), 0);
        default:
                return value_string(a, random_name("a.[]\",=\\\n"), 0);
        }
}

static struct path_element random_element(const char *letters) {
        struct path_element e = path_field(random_name(letters));
        struct value_map_builder key = { 0 };

        e.kind = (enum path_kind)(upto(8) < 5 ? PATH_FIELD : upto(3) + 1);
        if (e.kind == PATH_VALUE)
                e.value = random_scalar();
        else if (e.kind == PATH_INDEX)
                e.index = upto(1000);
        else if (e.kind == PATH_KEY) {
                value_map_add(&key, STR("name"), random_scalar(), 0);
                if (upto(2))
                        value_map_add(&key, STR("port"), random_scalar(), 0);
                e.value = value_map_end(&key, a, 0);
        }
        return e;
}

static struct field_path random_path(const char *letters) {
        /* The first is a name: a path never begins in a list. */
        struct field_path p = field_path_join(a, (struct field_path){ 0 }, path_field(STR("spec")));

        for (size_t n = upto(6); n > 0; n--)
                p = field_path_join(a, p, random_element(letters));
        return p;
}

static void printed_text_reads_as_a_pattern_of_its_path(void **state) {
        (void)state;
        seed = 1;
        for (int i = 0; i < 20000; i++) {
                struct field_path p = random_path("ab./~]\"-"), again;
                struct str text = field_path_text(a, p);
                struct err err = { 0 };

                if (field_path_read(text, a, &again, &err) < 0)
                        fail_msg("%s: %s", text.p, err.msg);
                if (field_pattern_fit(again, p) != PATTERN_COVERS || !str_eq(field_path_text(a, again), text))
                        fail_msg("%s", text.p);
                arena_free(a);
                a = arena_new(0);
        }
}

static void a_spelled_path_reads_as_itself(void **state) {
        (void)state;
        seed = 2;
        for (int i = 0; i < 20000; i++) {
                struct field_path p = random_path("ab./~][\"\\-=\n"), again;
                struct str text = spelled(p);
                struct err err = { 0 };

                if (field_path_read(text, a, &again, &err) < 0)
                        fail_msg("%s: %s", text.p, err.msg);
                if (!field_path_equal(again, p))
                        fail_msg("%s", text.p);
                arena_free(a);
                a = arena_new(0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_the_server_prints_is_read),
                cmocka_unit_test(the_leading_dot_may_be_left_out_and_keys_come_in_any_order),
                cmocka_unit_test(a_pointer_is_read),
                cmocka_unit_test(what_is_no_path_is_refused_with_a_hint),
                cmocka_unit_test(a_name_with_dots_is_covered_by_its_printed_text),
                cmocka_unit_test(a_pattern_covers_what_is_below_and_knows_what_is_above),
                cmocka_unit_test(a_pattern_need_not_say_all_keys),
                cmocka_unit_test(real_paths_are_found_in_an_object),
                cmocka_unit_test(real_paths_are_found_in_a_set),
                cmocka_unit_test(printed_text_reads_as_a_pattern_of_its_path),
                cmocka_unit_test(a_spelled_path_reads_as_itself),
        };

        return cmocka_run_group_tests_name("path_read", tests, setup, teardown);
}
