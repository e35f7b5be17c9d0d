/* SPDX-License-Identifier: Apache-2.0 */
/* What recorded cases (test_ssa_cases.c) do not reach: errors, other versions, the parts by themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/json.h"
#include "sandbox/ssa.h"

#define NOW "2026-01-01T00:01:00Z"

struct fixture {
        struct arena *a;
        struct type_table *types;
        const struct type *config_map;
};

static int set_up(void **state) {
        struct fixture *f = mem_zalloc(sizeof *f);

        f->a = arena_new(0);
        f->types = type_table_new();
        f->config_map = type_table_find(f->types, STR("v1"), STR("ConfigMap"));
        *state = f;
        return f->config_map ? 0 : -1;
}

static int tear_down(void **state) {
        struct fixture *f = *state;

        arena_free(f->a);
        type_table_free(f->types);
        free(f);
        return 0;
}

/* ' stands for ". */
static struct str quoted(struct fixture *f, const char *text) {
        struct str s = arena_str(f->a, str_from(text));

        for (size_t i = 0; i < s.n; i++)
                if (s.p[i] == '\'')
                        ((char *)s.p)[i] = '"';
        return s;
}

static const struct value *json(struct fixture *f, const char *text) {
        const struct value *v = NULL;
        struct err err = { 0 };

        if (json_parse(quoted(f, text), f->a, &v, &err) < 0)
                fail_msg("%s in %s", err.msg, text);
        return v;
}

static const struct fieldset *set(struct fixture *f, const char *text) {
        const struct fieldset *s = NULL;

        assert_int_equal(fieldset_parse(json(f, text), f->a, &s, NULL), 0);
        return s;
}

static void expect_text(struct fixture *f, struct str got, const char *want) {
        struct str text = quoted(f, want);

        if (!str_eq(got, text))
                fail_msg("got %.*s, want %s", STR_FMT(got), text.p);
}

static void expect_json(struct fixture *f, const struct value *got, const char *want) {
        expect_text(f, got ? value_canonical(f->a, got) : STR("nothing"), want);
}

/* A ConfigMap with that data and those managedFields (NULL: without). */
static const struct value *config_map(struct fixture *f, const char *data, const char *entries) {
        return json(f, arena_strf(f->a, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c'%s%s},'data':%s}",
                                  entries ? ",'managedFields':" : "", entries ? entries : "", data)
                               .p);
}

/* An entry of managedFields that owns those keys of data. */
static const char *entry(struct fixture *f, const char *manager, const char *operation, const char *version,
                         const char *time, const char *keys) {
        return arena_strf(f->a,
                          "{'manager':'%s','operation':'%s','apiVersion':'%s','time':'%s','fieldsType':'FieldsV1',"
                          "'fieldsV1':{'f:data':%s}}",
                          manager, operation, version, time, keys)
                .p;
}

static const char *list(struct fixture *f, const char *a, const char *b) {
        return arena_strf(f->a, "[%s%s%s]", a, b ? "," : "", b ? b : "").p;
}

static const struct value *entries_of(const struct value *object) {
        return value_path(object, "metadata", "managedFields", NULL);
}

static struct ssa_request as(const char *manager) {
        return (struct ssa_request){ .manager = str_from(manager), .api_version = STR("v1"), .now = STR(NOW) };
}

/* --- conflicts --- */

static struct ssa_conflict conflict(struct fixture *f, const char *id, const char *path) {
        struct ssa_conflict c = { .id = quoted(f, id) };

        assert_int_equal(field_path_from_dotted(str_from(path), f->a, &c.path, NULL), 0);
        return c;
}

static void one_conflict_is_one_sentence(void **state) {
        struct fixture *f = *state;
        struct ssa_conflict c =
                conflict(f, "{'manager':'kubectl','operation':'Update','apiVersion':'apps/v1','subresource':'scale'}",
                         ".spec.replicas");
        struct ssa_conflicts all = { &c, 1 };

        expect_text(f, ssa_conflict_cause(&c, f->a), "conflict with 'kubectl' with subresource 'scale' using apps/v1");
        expect_text(f, ssa_conflict_message(&all, f->a),
                    "Apply failed with 1 conflict: conflict with 'kubectl' with subresource 'scale' using apps/v1: "
                    ".spec.replicas");
}

static void several_conflicts_are_listed_by_manager(void **state) {
        struct fixture *f = *state;
        const struct ssa_conflict c[] = {
                conflict(f, "{'manager':'a','operation':'Apply'}", ".data.k"),
                conflict(f, "{'manager':'a','operation':'Apply'}", ".data.l"),
                conflict(f, "{'manager':'b','operation':'Update','apiVersion':'v1'}", ".data.k"),
        };
        struct ssa_conflicts all = { c, 3 };

        expect_text(
                f, ssa_conflict_message(&all, f->a),
                "Apply failed with 3 conflicts: conflicts with 'a':\n- .data.k\n- .data.l\nconflicts with 'b' using "
                "v1:\n- .data.k");
}

static void conflicts_come_members_first_at_each_level(void **state) {
        struct fixture *f = *state;
        const char *all = "{'f:a':{'.':{}},'f:b':{}}";
        const struct value *live =
                config_map(f, "{'a':'1','b':'1'}", list(f, entry(f, "x", "Apply", "v1", NOW, all), NULL));
        struct ssa_request how = as("y");
        struct ssa_conflicts c = { 0 };
        const struct value *object;
        struct err err = { 0 };

        assert_int_equal(
                ssa_apply(f->config_map, live, config_map(f, "{'b':'2','a':'2'}", NULL), &how, f->a, &object, &c, &err),
                ERR_CONFLICT);
        assert_int_equal(err.http_status, 409);
        assert_int_equal(c.count, 2);
        expect_text(f, field_path_text(f->a, c.items[0].path), ".data.a");
        expect_text(f, field_path_text(f->a, c.items[1].path), ".data.b");
        expect_text(f, c.items[0].id, "{'manager':'x','operation':'Apply'}");
}

/* --- entries --- */

static void expect_unreadable(struct fixture *f, const char *entries, const char *message) {
        struct err err = { 0 };

        assert_int_equal(ssa_check_entries(json(f, entries), &err), ERR_INVAL);
        if (!strstr(err.msg, message))
                fail_msg("got %s, want %s", err.msg, message);
}

static void entries_that_cannot_be_read_say_why(void **state) {
        struct fixture *f = *state;

        expect_unreadable(f, "[{'operation':'Patch'}]", "operation must be `Apply` or `Update`");
        expect_unreadable(f, "['text']", "operation must be `Apply` or `Update`");
        expect_unreadable(f, "[{'operation':'Apply'}]", "apiVersion must not be empty");
        expect_unreadable(f, "[{'operation':'Apply','apiVersion':'v1'}]",
                          "missing fieldsType in managed fields entry 0");
        expect_unreadable(f, "[{'operation':'Apply','apiVersion':'v1','fieldsType':'X'}]",
                          "invalid fieldsType \"X\" in managed fields entry 0");
        expect_unreadable(
                f, "[{'operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{'nonsense':{}}}]",
                "error decoding versioned set");
        assert_int_equal(ssa_check_entries(NULL, NULL), 0);
        assert_int_equal(
                ssa_check_entries(json(f, "[{'operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1'}]"), NULL),
                0);
}

static void elements_of_unknown_kinds_are_skipped(void **state) {
        struct fixture *f = *state;
        const char *fields = "{'.':{'f:x':{}},'z:what':{'f:y':{}},'f:data':{'.':1,'f:a':null,'q:b':[]}}";
        const char *sent = arena_strf(f->a,
                                      "[{'manager':'x','operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1',"
                                      "'fieldsV1':%s}]",
                                      fields)
                                   .p;
        struct ssa_request how = as("m");
        const struct value *after = ssa_update(f->config_map, config_map(f, "{'a':'1'}", NULL),
                                               config_map(f, "{'a':'1'}", sent), &how, f->a);

        expect_json(f, value_getc(entries_of(after)->list.items[0], "fieldsV1"), "{'f:data':{'.':{},'f:a':{}}}");
}

static void an_apply_over_unreadable_entries_fails(void **state) {
        struct fixture *f = *state;
        const struct value *live = config_map(f, "{'a':'1'}", "[{'operation':'Patch'}]"), *object;
        struct ssa_request how = as("a");
        struct ssa_conflicts c;
        struct err err = { 0 };

        assert_int_equal(ssa_apply(f->config_map, live, config_map(f, "{}", NULL), &how, f->a, &object, &c, &err),
                         ERR_INVAL);
        assert_int_equal(err.http_status, 500);
        assert_string_equal(err.msg, "failed to decode managed fields: operation must be `Apply` or `Update`");
}

static void a_config_with_entries_is_a_bad_request(void **state) {
        struct fixture *f = *state;
        struct ssa_request how = as("a");
        const struct value *object;
        struct ssa_conflicts c;
        struct err err = { 0 };

        assert_int_equal(ssa_apply(f->config_map, NULL, config_map(f, "{}", "[]"), &how, f->a, &object, &c, &err),
                         ERR_INVAL);
        assert_int_equal(err.http_status, 400);
        assert_string_equal(err.msg, "metadata.managedFields must be nil");
}

static void a_manager_without_a_name_is_unknown(void **state) {
        struct fixture *f = *state;
        struct ssa_request how = as("");
        const struct value *made = ssa_update(f->config_map, NULL, config_map(f, "{'a':'1'}", NULL), &how, f->a);

        expect_json(f, value_getc(entries_of(made)->list.items[0], "manager"), "'unknown'");
}

static void who_cleared_the_entries_is_not_followed(void **state) {
        struct fixture *f = *state;
        struct ssa_request how = as("m");
        const struct value *live =
                config_map(f, "{'a':'1'}", list(f, entry(f, "x", "Apply", "v1", NOW, "{'f:a':{}}"), NULL));
        const struct value *cleared = ssa_update(f->config_map, live, config_map(f, "{'a':'2'}", "[]"), &how, f->a);

        assert_null(entries_of(cleared));
        assert_null(entries_of(ssa_update(f->config_map, live, config_map(f, "{'a':'2'}", "[{}]"), &how, f->a)));
        assert_null(entries_of(ssa_update(f->config_map, cleared, config_map(f, "{'a':'3'}", NULL), &how, f->a)));
        /* Through a subresource entries that were sent count for nothing. */
        how.subresource = STR("status");
        assert_int_equal(
                value_count(entries_of(ssa_update(f->config_map, live, config_map(f, "{'a':'1'}", "[]"), &how, f->a))),
                1);
}

/* --- versions --- */

static const struct type *only_v1_and_v2(void *ctx, struct str api_version) {
        struct fixture *f = ctx;

        return str_eqc(api_version, "v2") ? f->config_map : NULL;
}

static const struct fieldset *v2_resets(void *ctx, struct str api_version) {
        (void)api_version;
        return set(ctx, "{'f:data':{'f:ignored':{}}}");
}

static void an_entry_of_a_version_that_is_gone_vanishes(void **state) {
        struct fixture *f = *state;
        const char *entries = list(f, entry(f, "x", "Apply", "v9", NOW, "{'f:a':{}}"),
                                   entry(f, "y", "Apply", "v1", NOW, "{'f:a':{}}"));
        const struct value *live = config_map(f, "{'a':'1'}", entries), *object;
        struct ssa_request how = as("m");
        struct ssa_conflicts c;
        const struct value *after = ssa_update(f->config_map, live, config_map(f, "{'a':'1'}", NULL), &how, f->a);

        assert_int_equal(value_count(entries_of(after)), 1);
        assert_int_equal(
                ssa_apply(f->config_map, live, config_map(f, "{'a':'1'}", NULL), &how, f->a, &object, &c, NULL), 0);
        assert_int_equal(value_count(entries_of(object)), 2);
}

static void for_custom_resources_a_version_that_is_gone_is_a_failure(void **state) {
        struct fixture *f = *state;
        const char *entries = list(f, entry(f, "x", "Apply", "v9", NOW, "{'f:a':{}}"), NULL);
        const struct value *live = config_map(f, "{'a':'1'}", entries), *object;
        struct ssa_versions versions = { .ctx = f, .type = only_v1_and_v2, .gone_fails = true };
        struct ssa_request how = as("m");
        struct ssa_conflicts c;
        struct err err = { 0 };

        how.versions = &versions;
        assert_int_equal(
                ssa_apply(f->config_map, live, config_map(f, "{'a':'1'}", NULL), &how, f->a, &object, &c, &err),
                ERR_INVAL);
        assert_int_equal(err.http_status, 500);
        assert_string_equal(err.msg, "request to convert CR to an invalid group/version: v9");
        object = ssa_update(f->config_map, live, config_map(f, "{'a':'2'}", NULL), &how, f->a);
        assert_true(value_equal(entries_of(object), entries_of(live)));
}

static void an_entry_of_another_version_loses_what_that_version_shows(void **state) {
        struct fixture *f = *state;
        const char *entries = list(f, entry(f, "x", "Apply", "v2", NOW, "{'f:a':{},'f:ignored':{}}"), NULL);
        const struct value *live = config_map(f, "{'a':'1','ignored':'1'}", entries);
        struct ssa_versions versions = { .ctx = f, .type = only_v1_and_v2, .reset = v2_resets };
        struct ssa_request how = as("m");

        how.versions = &versions;
        const struct value *after =
                ssa_update(f->config_map, live, config_map(f, "{'a':'2','ignored':'2'}", NULL), &how, f->a);

        expect_json(f, value_getc(entries_of(after)->list.items[0], "fieldsV1"), "{'f:data':{'f:ignored':{}}}");
        expect_json(f, value_getc(entries_of(after)->list.items[1], "fieldsV1"),
                    "{'f:data':{'f:a':{},'f:ignored':{}}}");
}

/* --- the cap --- */

/* `count` Update entries, every third one in v2, one second apart. */
static const char *many_entries(struct fixture *f, int count) {
        const char *all = "";

        for (int i = 0; i < count; i++)
                all = arena_strf(f->a, "%s%s%s", all, i ? "," : "",
                                 entry(f, arena_strf(f->a, "m%02d", i).p, "Update", i % 3 ? "v1" : "v2",
                                       arena_strf(f->a, "2026-01-01T00:00:%02dZ", i).p,
                                       arena_strf(f->a, "{'f:k%02d':{}}", i).p))
                              .p;
        return arena_strf(f->a, "[%s]", all).p;
}

static void above_ten_the_oldest_updates_become_one_for_each_version(void **state) {
        struct fixture *f = *state;
        struct ssa_versions versions = { .ctx = f, .type = only_v1_and_v2 };
        struct ssa_request how = as("new");
        const struct value *live = config_map(f, "{}", many_entries(f, 12));

        how.versions = &versions;
        const struct value *after =
                entries_of(ssa_update(f->config_map, live, config_map(f, "{'z':'1'}", NULL), &how, f->a));

        assert_int_equal(value_count(after), 10);
        expect_json(f, value_getc(after->list.items[0], "manager"), "'ancient-changes'");
        expect_json(f, value_getc(after->list.items[0], "apiVersion"), "'v2'");
        expect_json(f, value_getc(after->list.items[0], "fieldsV1"), "{'f:data':{'f:k00':{},'f:k03':{}}}");
        expect_json(f, value_getc(after->list.items[1], "fieldsV1"), "{'f:data':{'f:k01':{},'f:k02':{},'f:k04':{}}}");
        expect_json(f, value_getc(after->list.items[1], "time"), "'2026-01-01T00:00:04Z'");
        expect_json(f, value_getc(after->list.items[9], "manager"), "'new'");
}

static void ten_updates_stay_as_they_are(void **state) {
        struct fixture *f = *state;
        struct ssa_versions versions = { .ctx = f, .type = only_v1_and_v2 };
        struct ssa_request how = as("m09");
        const struct value *live = config_map(f, "{}", many_entries(f, 10));

        how.versions = &versions;
        const struct value *after = ssa_update(f->config_map, live, config_map(f, "{}", NULL), &how, f->a);

        assert_true(value_equal(entries_of(after), entries_of(live)));
}

/* --- settling --- */

static void a_change_of_times_alone_is_no_change(void **state) {
        struct fixture *f = *state;
        const char *then = "2026-01-01T00:00:00Z";
        const struct value *live =
                config_map(f, "{'a':'1'}", list(f, entry(f, "x", "Apply", "v1", then, "{'f:a':{}}"), NULL));
        const struct value *later =
                config_map(f, "{'a':'1'}", list(f, entry(f, "x", "Apply", "v1", NOW, "{'f:a':{}}"), NULL));
        const struct value *other =
                config_map(f, "{'a':'2'}", list(f, entry(f, "x", "Apply", "v1", NOW, "{'f:a':{}}"), NULL));
        const struct value *same =
                config_map(f, "{'a':'1'}", list(f, entry(f, "x", "Apply", "v1", then, "{'f:a':{}}"), NULL));

        assert_ptr_equal(ssa_settle(live, later, f->a), live);
        assert_ptr_equal(ssa_settle(live, same, f->a), live);
        assert_ptr_equal(ssa_settle(live, other, f->a), other);
        assert_ptr_equal(ssa_settle(NULL, other, f->a), other);
        assert_ptr_equal(ssa_settle(config_map(f, "{'a':'1'}", NULL), later, f->a), later);
}

/* --- parts --- */

static const struct schema *data_type(struct fixture *f) {
        return f->config_map->schema;
}

static void a_comparison_tells_added_modified_and_removed(void **state) {
        struct fixture *f = *state;
        struct ssa_comparison c = ssa_compare(data_type(f), config_map(f, "{'a':'1','b':'1','c':'1'}", NULL),
                                              config_map(f, "{'a':'1','b':'2','d':'1'}", NULL), f->a);

        expect_text(f, fieldset_text(f->a, c.added), "{'f:data':{'f:d':{}}}");
        expect_text(f, fieldset_text(f->a, c.modified), "{'f:data':{'f:b':{}}}");
        expect_text(f, fieldset_text(f->a, c.removed), "{'f:data':{'f:c':{}}}");
}

static const struct schema sets = { .form = SCHEMA_LIST_SET };
static const struct schema_field set_fields[] = { { { "s", 1 }, &sets } };
static const struct schema with_set = { .form = SCHEMA_STRUCT, .fields = set_fields, .field_count = 1 };

static void repeated_items_of_a_set_are_compared_as_one(void **state) {
        struct fixture *f = *state;
        struct ssa_comparison c = ssa_compare(&with_set, json(f, "{'s':['a','a','b','c','c']}"),
                                              json(f, "{'s':['a','b','b','c','c','c']}"), f->a);

        expect_text(f, fieldset_text(f->a, c.added), "{'f:s':{'v:\\'a\\'':{},'v:\\'b\\'':{}}}");
        expect_text(f, fieldset_text(f->a, c.modified), "{'f:s':{'v:\\'c\\'':{}}}");
        expect_text(f, fieldset_text(f->a, c.removed), "{'f:s':{'v:\\'a\\'':{},'v:\\'b\\'':{}}}");
}

static void a_merge_keeps_the_place_of_what_only_the_live_object_has(void **state) {
        struct fixture *f = *state;

        expect_json(f,
                    ssa_merge(&with_set, json(f, "{'s':['x','a','y','b','z']}"), json(f, "{'s':['b','n','a']}"), f->a),
                    "{'s':['x','y','b','z','n','a']}");
        expect_json(f, ssa_merge(&with_set, json(f, "{'s':['a','a','b']}"), json(f, "{'s':['a']}"), f->a),
                    "{'s':['a','b']}");
        expect_json(f, ssa_merge(&with_set, json(f, "{'s':['a']}"), json(f, "{'s':null}"), f->a), "{'s':['a']}");
        expect_json(f, ssa_merge(&with_set, json(f, "{'s':[]}"), json(f, "{'s':null}"), f->a), "{'s':null}");
}

static void what_is_removed_to_the_last_leaves_null(void **state) {
        struct fixture *f = *state;
        const struct value *v = config_map(f, "{'a':'1','b':'2'}", NULL);

        expect_json(f, value_getc(ssa_remove(data_type(f), v, set(f, "{'f:data':{'f:a':{}}}"), f->a), "data"),
                    "{'b':'2'}");
        expect_json(f, value_getc(ssa_remove(data_type(f), v, set(f, "{'f:data':{'f:a':{},'f:b':{}}}"), f->a), "data"),
                    "null");
        assert_null(value_getc(ssa_remove(data_type(f), v, set(f, "{'f:data':{'.':{}}}"), f->a), "data"));
        assert_ptr_equal(ssa_remove(data_type(f), v, &fieldset_empty, f->a), v);
}

static void the_zero_object_has_what_go_prints(void **state) {
        struct fixture *f = *state;
        const struct type *type = type_table_find(f->types, STR("apps/v1"), STR("Deployment"));
        const struct value *zero = ssa_zero(type, STR("apps/v1"), STR("Deployment"), f->a);

        expect_json(f, value_getc(zero, "metadata"), "{}");
        expect_json(f, value_path(zero, "spec", "selector", NULL), "null");
        expect_json(f, value_path(zero, "spec", "strategy", NULL), "{}");
        expect_json(f, value_path(zero, "spec", "template", "spec", NULL), "{'containers':null}");
        assert_null(value_path(zero, "spec", "replicas", NULL));
}

static void what_does_not_fit_the_type_is_told(void **state) {
        struct fixture *f = *state;
        struct err err = { 0 };

        assert_int_equal(ssa_validate(f->config_map, json(f, "{'data':{'a':'b','c':null},'metadata':null}"), &err), 0);
        assert_int_equal(ssa_validate(f->config_map, json(f, "{'dat':{}}"), &err), ERR_INVAL);
        assert_string_equal(err.msg, ".dat: field not declared in schema");
        assert_int_equal(ssa_validate(f->config_map, json(f, "{'data':{'a':1,'b':[]},'immutable':'x'}"), &err),
                         ERR_INVAL);
        assert_string_equal(err.msg,
                            "errors:\n"
                            "  .data.a: expected string, got &value.valueUnstructured{Value:1}\n"
                            "  .data.b: expected string, got &value.valueUnstructured{Value:[]interface {}{}}\n"
                            "  .immutable: expected boolean, got &{x}");
        assert_int_equal(ssa_validate(f->config_map, json(f, "[]"), &err), ERR_INVAL);
        assert_string_equal(err.msg, "expected map, got &{[]}");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(one_conflict_is_one_sentence),
                TEST(several_conflicts_are_listed_by_manager),
                TEST(conflicts_come_members_first_at_each_level),
                TEST(entries_that_cannot_be_read_say_why),
                TEST(elements_of_unknown_kinds_are_skipped),
                TEST(an_apply_over_unreadable_entries_fails),
                TEST(a_config_with_entries_is_a_bad_request),
                TEST(a_manager_without_a_name_is_unknown),
                TEST(who_cleared_the_entries_is_not_followed),
                TEST(an_entry_of_a_version_that_is_gone_vanishes),
                TEST(for_custom_resources_a_version_that_is_gone_is_a_failure),
                TEST(an_entry_of_another_version_loses_what_that_version_shows),
                TEST(above_ten_the_oldest_updates_become_one_for_each_version),
                TEST(ten_updates_stay_as_they_are),
                TEST(a_change_of_times_alone_is_no_change),
                TEST(a_comparison_tells_added_modified_and_removed),
                TEST(repeated_items_of_a_set_are_compared_as_one),
                TEST(a_merge_keeps_the_place_of_what_only_the_live_object_has),
                TEST(what_is_removed_to_the_last_leaves_null),
                TEST(the_zero_object_has_what_go_prints),
                TEST(what_does_not_fit_the_type_is_told),
        };

        return cmocka_run_group_tests_name("ssa", tests, NULL, NULL);
}
