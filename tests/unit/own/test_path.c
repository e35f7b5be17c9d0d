/* SPDX-License-Identifier: Apache-2.0 */
#include "own_test.h"

#include "base/limits.h"
#include "own/path_read.h"
#include "arena_test.h"

static struct path_element element(const char *text) {
        struct path_element e;

        assert_int_equal(path_element_parse(quoted(a, text), a, &e, NULL), 0);
        return e;
}

static struct field_path dotted_below(struct field_path p, const char *text) {
        struct field_path below = dotted(a, text);

        for (size_t i = 0; i < below.count; i++)
                p = field_path_join(a, p, below.elements[i]);
        return p;
}

static struct field_path image_of(const char *container) {
        struct field_path p = dotted(a, "spec.template.spec.containers");

        p = field_path_join(a, p, element(container));
        return field_path_join(a, p, path_field(STR("image")));
}

static const struct value *deployment(void) {
        return json(
                a,
                "{'spec':{'template':{'spec':{'containers':[{'name':'a','image':'1'},{'name':'c','image':'2','ports':["
                "{'containerPort':80},{'containerPort':80,'protocol':'UDP'}]}]}}}}");
}

static const struct schema *deployment_type(void) {
        return schema_builtin(a, STR("apps/v1"), STR("Deployment"));
}

static void a_path_prints_as_in_a_conflict(void **state) {
        struct field_path p = image_of("k:{'name':'c'}");
        struct buf b = buf_make(1024);

        (void)state;
        assert_text(field_path_text(a, p), ".spec.template.spec.containers[name=\"c\"].image");
        field_path_print_short(p, &b);
        assert_text(buf_str(&b), "spec.template.spec.containers[c].image");
        buf_done(&b);

        p = field_path_join(a, dotted(a, "ports"), element("k:{'port':80,'protocol':'TCP'}"));
        assert_text(field_path_text(a, p), ".ports[port=80,protocol=\"TCP\"]");
        p = field_path_join(a, dotted(a, "finalizers"), element("v:'x'"));
        assert_text(field_path_text(a, p), ".finalizers[=\"x\"]");
        p = field_path_join(a, dotted(a, "list"), element("i:3"));
        assert_text(field_path_text(a, p), ".list[3]");
}

static void dotted_paths_are_plain_fields_only(void **state) {
        static const char *const bad[] = { "", ".", "a..b", "a.", ".a.", "a[0].b" };
        struct field_path p;

        (void)state;
        assert_text(field_path_text(a, dotted(a, ".spec.replicas")), ".spec.replicas");
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_int_equal(field_path_from_dotted(str_from(bad[i]), a, &p, NULL), ERR_INVAL);
}

static void ancestors_cover_descendants_only(void **state) {
        (void)state;
        assert_true(field_path_covers(dotted(a, "spec"), dotted(a, "spec.replicas")));
        assert_true(field_path_covers(dotted(a, "spec"), dotted(a, "spec")));
        assert_false(field_path_covers(dotted(a, "spec.replicas"), dotted(a, "spec")));
        assert_false(field_path_covers(dotted(a, "spec.x"), dotted(a, "spec.replicas")));
        assert_true(field_path_covers((struct field_path){ 0 }, dotted(a, "spec")));
}

static void values_are_found_by_key_with_defaults_filled_in(void **state) {
        struct field_path ports = dotted(a, "spec.template.spec.containers");
        const struct value *d = deployment();

        (void)state;
        assert_text(value_text(field_path_find(d, image_of("k:{'name':'c'}"), NULL)), "2");
        assert_null(field_path_find(d, image_of("k:{'name':'x'}"), NULL));
        ports = field_path_join(a, ports, element("k:{'name':'c'}"));
        ports = field_path_join(a, ports, path_field(STR("ports")));

        struct field_path tcp = field_path_join(a, ports, element("k:{'containerPort':80,'protocol':'TCP'}"));
        struct field_path udp = field_path_join(a, ports, element("k:{'containerPort':80,'protocol':'UDP'}"));
        assert_int_equal(value_count(field_path_find(d, tcp, deployment_type())), 1);
        assert_int_equal(value_count(field_path_find(d, udp, deployment_type())), 2);
        /* Without the type nobody knows that TCP is meant. */
        assert_null(field_path_find(d, tcp, NULL));
}

static void an_item_is_filed_under_its_whole_key(void **state) {
        const struct value *d = deployment();
        const struct schema *list = deployment_type();
        struct path_element e;

        (void)state;
        list = schema_field(schema_field(schema_field(schema_field(list, STR("spec")), STR("template")), STR("spec")),
                            STR("containers"));
        const struct value *items = field_path_find(d, dotted(a, "spec.template.spec.containers"), NULL);
        assert_true(path_item_element(items->list.items[1], list, a, &e));
        assert_int_equal(e.kind, PATH_KEY);
        assert_text(value_canonical(a, e.value), "{\"name\":\"c\"}");
        assert_false(path_item_element(json(a, "'text'"), list, a, &e));
        assert_false(path_item_element(items->list.items[1], NULL, a, &e));
        list = schema_field(schema_item(list), STR("ports"));
        assert_true(path_item_element(json(a, "{'containerPort':1}"), list, a, &e));
        assert_text(value_canonical(a, e.value), "{\"containerPort\":1,\"protocol\":\"TCP\"}");
        assert_false(path_item_element(json(a, "{'name':'x'}"), NULL, a, &e));
}

/* The server counts what a key has, if only null. */
static void a_key_may_be_null(void **state) {
        const struct schema *list = deployment_type();
        struct path_element e;

        (void)state;
        list = schema_field(schema_field(schema_field(schema_field(list, STR("spec")), STR("template")), STR("spec")),
                            STR("containers"));
        assert_true(path_item_element(json(a, "{'name':null,'image':'x'}"), list, a, &e));
        assert_text(value_canonical(a, e.value), "{\"name\":null}");
        assert_false(path_item_element(&value_null, list, a, &e));
}

static void removing_shares_what_it_does_not_touch(void **state) {
        const struct value *d = json(a, "{'a':{'b':{'c':1}},'z':{'y':1}}");
        const struct value *r = field_path_remove(a, d, dotted(a, "a.b.c"), NULL);

        (void)state;
        assert_text(value_canonical(a, r), "{\"a\":{\"b\":{}},\"z\":{\"y\":1}}");
        assert_ptr_equal(value_getc(r, "z"), value_getc(d, "z"));
        assert_ptr_equal(field_path_remove(a, d, dotted(a, "a.x.c"), NULL), d);
        assert_ptr_equal(field_path_remove(a, d, (struct field_path){ 0 }, NULL), d);
        assert_text(value_canonical(a, field_path_prune(a, d, dotted(a, "a.b.c"), NULL)), "{\"z\":{\"y\":1}}");
}

static void pruning_stops_at_list_items(void **state) {
        const struct value *d = json(a, "{'l':[{'name':'x'},{'v':1}]}");
        struct field_path l = dotted(a, "l"), p;

        (void)state;
        p = field_path_join(a, field_path_join(a, l, element("i:1")), path_field(STR("v")));
        assert_text(value_canonical(a, field_path_prune(a, d, p, NULL)), "{\"l\":[{\"name\":\"x\"},{}]}");
        p = field_path_join(a, l, element("k:{'name':'x'}"));
        d = field_path_prune(a, d, p, NULL);
        assert_text(value_canonical(a, d), "{\"l\":[{\"v\":1}]}");
        p = field_path_join(a, l, element("i:0"));
        assert_text(value_canonical(a, field_path_prune(a, d, p, NULL)), "{}");
}

/* A map of maps and lists of 40 leaves, and the paths of all that is in it. */
static const struct value *bushy(struct path_list *ret_paths) {
        struct buf text = buf_make(MIB);

        buf_addc(&text, "{");
        for (int i = 0; i < 5; i++)
                buf_addf(&text,
                         "%s'm%d':{'a':%d,'b':{'c':1,'d':{'e':2}},'l':[{'name':'x','v':{'w':1}},{'name':'y'}],'s':['p','q']}",
                         i ? "," : "", i, i);
        buf_addc(&text, "}");
        const struct value *v = json(a, text.p);

        for (int i = 0; i < 5; i++) {
                static const char *const below[] = { "a", "b", "b.c", "b.d", "b.d.e", "l", "s", "absent", "a.absent" };
                static const char *const items[] = { "k:{'name':'x'}", "k:{'name':'y'}", "k:{'name':'z'}" };
                struct field_path list = dotted(a, arena_strf(a, "m%d.l", i).p);

                for (size_t k = 0; k < ARRAY_LEN(below); k++)
                        path_list_add(ret_paths, a, dotted(a, arena_strf(a, "m%d.%s", i, below[k]).p));
                for (size_t k = 0; k < ARRAY_LEN(items); k++)
                        path_list_add(ret_paths, a, field_path_join(a, list, element(items[k])));
                struct field_path x = field_path_join(a, list, element(items[0]));
                path_list_add(ret_paths, a, field_path_join(a, x, path_field(STR("v"))));
                path_list_add(ret_paths, a, dotted_below(x, "v.w"));
                path_list_add(ret_paths, a, field_path_join(a, dotted(a, arena_strf(a, "m%d.s", i).p), element("v:'q'")));
        }
        buf_done(&text);
        return v;
}

static void many_paths_at_once_are_as_one_by_one(void **state) {
        struct path_list all = { 0 }, some;
        const struct value *v = bushy(&all);
        uint64_t dice = 1;

        (void)state;
        for (int round = 0; round < 2000; round++) {
                const struct value *removed = v, *pruned = v;

                some = (struct path_list){ 0 };
                for (size_t i = 0; i < all.count; i++) {
                        dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                        if ((dice >> 33) % 16 < (unsigned)round % 16)
                                path_list_add(&some, a, all.paths[i]);
                }
                /* What is below goes first: one by one, an emptied map is no longer there for the next. */
                for (size_t i = some.count; i-- > 0;) {
                        removed = field_path_remove(a, removed, some.paths[i], NULL);
                        pruned = field_path_prune(a, pruned, some.paths[i], NULL);
                }
                assert_text(value_canonical(a, field_paths_remove(a, v, some.paths, some.count, NULL)),
                            value_canonical(a, removed).p);
                assert_text(value_canonical(a, field_paths_prune(a, v, some.paths, some.count, NULL)),
                            value_canonical(a, pruned).p);
        }
        assert_ptr_equal(field_paths_prune(a, v, &some.paths[0], 0, NULL), v);
}

static void many_paths_cost_little_memory(void **state) {
        struct buf text = buf_make(MIB);
        struct path_list all = { 0 };

        (void)state;
        buf_addc(&text, "{'data':{");
        for (int i = 0; i < 4000; i++) {
                buf_addf(&text, "%s'k%d':1", i ? "," : "", i);
                path_list_add(&all, a, dotted(a, arena_strf(a, "data.k%d", i).p));
        }
        buf_addc(&text, "}}");
        const struct value *v = json(a, text.p);
        size_t before = arena_bytes(a);

        assert_text(value_canonical(a, field_paths_remove(a, v, all.paths, all.count, NULL)), "{\"data\":{}}");
        assert_true(arena_bytes(a) - before < 4 * MIB);
        buf_done(&text);
}

static void setting_makes_maps_but_no_items(void **state) {
        const struct value *d = json(a, "{'l':[{'name':'x'}],'s':'text'}"), *r;
        const struct value *one = value_int(a, 1, 0);
        struct field_path p;

        (void)state;
        assert_int_equal(field_path_set(a, d, dotted(a, "a.b"), NULL, one, &r, NULL), 0);
        assert_text(value_canonical(a, value_getc(r, "a")), "{\"b\":1}");
        p = field_path_join(a, field_path_join(a, dotted(a, "l"), element("k:{'name':'x'}")), path_field(STR("v")));
        assert_int_equal(field_path_set(a, d, p, NULL, one, &r, NULL), 0);
        assert_text(value_canonical(a, value_getc(r, "l")), "[{\"name\":\"x\",\"v\":1}]");
        p = field_path_join(a, field_path_join(a, dotted(a, "l"), element("k:{'name':'y'}")), path_field(STR("v")));
        assert_int_equal(field_path_set(a, d, p, NULL, one, &r, NULL), ERR_NOTFOUND);
        assert_int_equal(field_path_set(a, d, dotted(a, "s.t"), NULL, one, &r, NULL), ERR_NOTFOUND);
}

static void a_copied_path_outlives_its_origin(void **state) {
        struct arena *b = arena_new(0);
        struct path_element e;

        (void)state;
        assert_int_equal(path_element_parse(arena_str(b, STR("k:{\"name\":\"c\"}")), b, &e, NULL), 0);
        struct field_path copy = field_path_dup(a, field_path_join(b, (struct field_path){ 0 }, e));
        arena_free(b);
        assert_text(field_path_text(a, copy), "[name=\"c\"]");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_path_prints_as_in_a_conflict),
                cmocka_unit_test(dotted_paths_are_plain_fields_only),
                cmocka_unit_test(ancestors_cover_descendants_only),
                cmocka_unit_test(values_are_found_by_key_with_defaults_filled_in),
                cmocka_unit_test(an_item_is_filed_under_its_whole_key),
                cmocka_unit_test(a_key_may_be_null),
                cmocka_unit_test(removing_shares_what_it_does_not_touch),
                cmocka_unit_test(pruning_stops_at_list_items),
                cmocka_unit_test(many_paths_at_once_are_as_one_by_one),
                cmocka_unit_test(many_paths_cost_little_memory),
                cmocka_unit_test(setting_makes_maps_but_no_items),
                cmocka_unit_test(a_copied_path_outlives_its_origin),
        };

        return cmocka_run_group_tests_name("path", tests, setup, teardown);
}
