/* SPDX-License-Identifier: Apache-2.0 */
#include "own_test.h"
#include "arena_test.h"

#define ENTRY(manager, op, sub, fields)                                                                                \
        "{'manager':'" manager "','operation':'" op "','subresource':'" sub                                            \
        "','apiVersion':'apps/v1','time':'2026-01-01T00:00:00Z','fieldsType':'FieldsV1','fieldsV1':" fields "}"

/* clang-format off */
static const char *const entries[] = {
        ENTRY("truce", "Apply", "", "{'f:spec':{'f:selector':{},'f:template':{'f:x':{}}}}"),
        ENTRY("truce", "Update", "", "{'f:spec':{'f:y':{}}}"),
        ENTRY("truce-keeper", "Update", "", "{'f:spec':{'f:replicas':{}}}"),
        ENTRY("kubectl-edit", "Update", "", "{'f:spec':{'f:template':{'.':{},'f:x':{}}}}"),
        ENTRY("kcm", "Update", "status", "{'f:status':{'f:a':{}}}"),
        ENTRY("odd", "Apply", "status", "{'f:spec':{'f:z':{}},'f:status':{}}"),
        ENTRY("hpa", "Update", "scale", "{'f:spec':{'f:replicas':{}}}"),
        ENTRY("broken", "Update", "", "{'x:spec':{}}"),
        ENTRY("ancient-changes", "Update", "", "{'f:data':{}}"),
        ENTRY("before-first-apply", "Update", "", "{'f:data':{'f:a':{}}}"),
};
/* clang-format on */

static const struct value *object(void) {
        struct str keys[] = { STR("metadata"), STR("managedFields") };
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(entries); i++)
                value_list_add(&b, json(a, entries[i]));
        return value_with_path(a, NULL, keys, 2, value_list_end(&b, a, 0));
}

static void ours_is_the_apply_entry_of_the_object_itself(void **state) {
        struct managed m = owners_of(a, object());
        const struct managed_entry *ours = managed_ours(&m);

        (void)state;
        assert_int_equal(m.count, 10);
        assert_ptr_equal(ours, &m.entries[0]);
        assert_true(managed_is_ours(ours));
        assert_false(managed_is_ours(&m.entries[1]));
        assert_true(managed_is_keeper(&m.entries[2]));
        assert_true(managed_is_ancient(&m.entries[8]));
        assert_true(managed_is_before_first_apply(&m.entries[9]));
        assert_text(ours->api_version, "apps/v1");
        assert_text(ours->time, "2026-01-01T00:00:00Z");
        assert_null(managed_find(&m, STR("truce"), MANAGED_APPLY, STR(""), STR("apps/v1beta1")));
}

static void owners_cover_a_path_also_from_above(void **state) {
        struct managed m = owners_of(a, object());
        const struct managed_entry *owners[4];

        (void)state;
        assert_int_equal(managed_owners(&m, NULL, dotted(a, "spec.selector.matchLabels"), owners, 4), 1);
        assert_ptr_equal(owners[0], &m.entries[0]);
        assert_int_equal(managed_owners(&m, NULL, dotted(a, "spec.template.x"), owners, 4), 2);
        assert_int_equal(managed_owners(&m, NULL, dotted(a, "spec.template"), owners, 4), 1);
        assert_int_equal(managed_touching(&m, NULL, dotted(a, "spec.template"), owners, 4), 2);
        assert_int_equal(managed_touching(&m, NULL, dotted(a, "spec"), owners, 2), 6);
        assert_int_equal(managed_owners(&m, NULL, dotted(a, "data.a"), owners, 4), 2);
}

static void other_owners_leave_us_and_the_keeper_out(void **state) {
        struct managed m = owners_of(a, object());

        (void)state;
        assert_null(managed_other_owner(&m, NULL, dotted(a, "spec.selector"), true));
        assert_ptr_equal(managed_other_owner(&m, NULL, dotted(a, "spec.template.x"), true), &m.entries[3]);
        assert_ptr_equal(managed_other_owner(&m, NULL, dotted(a, "spec.replicas"), true), &m.entries[2]);
        assert_ptr_equal(managed_other_owner(&m, NULL, dotted(a, "spec.replicas"), false), &m.entries[6]);
        assert_ptr_equal(managed_keeper_of(&m, NULL, dotted(a, "spec.replicas")), &m.entries[2]);
        assert_null(managed_keeper_of(&m, NULL, dotted(a, "spec.selector")));
        assert_null(managed_ours(NULL));
}

static void a_bad_set_breaks_its_entry_only(void **state) {
        struct managed m = owners_of(a, object());

        (void)state;
        assert_true(m.entries[7].broken);
        assert_null(m.entries[7].set);
        assert_false(m.entries[8].broken);
}

static void what_is_no_list_of_owners_is_refused(void **state) {
        struct managed m;

        (void)state;
        assert_int_equal(managed_parse(json(a, "{'metadata':{'managedFields':{}}}"), a, &m, NULL), ERR_PARSE);
        assert_int_equal(managed_parse(json(a, "{'metadata':{'managedFields':['x']}}"), a, &m, NULL), ERR_PARSE);
        assert_int_equal(managed_parse(json(a, "{'metadata':{'managedFields':[{'operation':'Delete'}]}}"), a, &m, NULL),
                         ERR_PARSE);
        assert_int_equal(managed_parse(json(a, "{'metadata':{'managedFields':null}}"), a, &m, NULL), 0);
        assert_int_equal(m.count, 0);
        assert_int_equal(managed_parse(json(a, "{}"), a, &m, NULL), 0);
        assert_int_equal(m.count, 0);
}

static const struct value *with_entries(size_t n) {
        const struct value *entry = json(a, ENTRY("m", "Update", "", "{}"));
        struct str keys[] = { STR("metadata"), STR("managedFields") };
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < n; i++)
                value_list_add(&b, entry);
        return value_with_path(a, NULL, keys, 2, value_list_end(&b, a, 0));
}

static void too_many_owners_are_refused(void **state) {
        struct managed m;

        (void)state;
        assert_int_equal(managed_parse(with_entries(MANAGED_MAX_ENTRIES), a, &m, NULL), 0);
        assert_int_equal(managed_parse(with_entries(MANAGED_MAX_ENTRIES + 1), a, &m, NULL), ERR_LIMIT);
}

static void the_reduced_form_keeps_what_decides(void **state) {
        struct managed m = owners_of(a, object()), r = managed_reduce(&m, a);

        (void)state;
        assert_int_equal(r.count, 9);
        assert_null(managed_find(&r, STR("kcm"), MANAGED_UPDATE, STR("status"), STR("")));
        assert_non_null(managed_find(&r, STR("hpa"), MANAGED_UPDATE, STR("scale"), STR("")));
        assert_int_equal(managed_ours(&r)->time.n, 0);
        /* A status writer that applied the whole object shares paths of spec: that part stays. */
        const struct managed_entry *odd = managed_find(&r, STR("odd"), MANAGED_APPLY, STR("status"), STR(""));
        assert_text(fieldset_text(a, odd->set), "{\"f:spec\":{\"f:z\":{}}}");
}

static struct managed with_times(const char *apply_time, const char *edit_time, const char *subresource) {
        return owners_of(a, json(a, arena_strf(a,
                                               "{'metadata':{'creationTimestamp':'2026-01-01T00:00:00Z','managedFields':["
                                               "{'manager':'truce','operation':'Apply','time':'%s','fieldsV1':{'f:x':{}}},"
                                               "{'manager':'k9s','operation':'Update','subresource':'%s','time':'%s','fieldsV1'"
                                               ":{'f:y':{}}}]}}",
                                               apply_time, subresource, edit_time)
                                            .p));
}

static void who_made_the_object_is_told_by_the_second(void **state) {
        const char *then = "2026-01-01T00:00:00Z", *later = "2026-01-01T00:00:01Z";

        (void)state;
        assert_true(with_times(later, then, "").entries[1].creation);
        assert_false(with_times(later, later, "").entries[1].creation);
        assert_false(with_times(later, then, "scale").entries[1].creation);
        assert_false(with_times(then, then, "").entries[1].creation); /* the apply made it */
        assert_false(with_times(then, then, "").entries[0].creation);
}

static void the_packed_form_remembers_who_made_the_object(void **state) {
        struct managed m = with_times("2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z", ""), got;
        struct intern_pool *pool = intern_pool_new();
        struct managed_packed *p = managed_pack(&m, pool);

        (void)state;
        assert_int_equal(managed_unpack(p, a, &got, NULL), 0);
        assert_true(got.entries[1].creation);
        assert_false(got.entries[0].creation);
        assert_int_equal(got.entries[1].time.n, 0);
        managed_packed_free(p);
        intern_pool_free(pool);
}

static void packing_shares_texts_and_reads_back_the_same(void **state) {
        struct intern_pool *pool = intern_pool_new();
        struct managed m = owners_of(a, object()), want = managed_reduce(&m, a), got;
        struct managed_packed *one = managed_pack(&m, pool);
        size_t texts = intern_count(pool), bytes = intern_bytes(pool);
        struct managed_packed *two = managed_pack(&m, pool);

        (void)state;
        assert_int_equal(intern_count(pool), texts);
        assert_int_equal(intern_bytes(pool), bytes);
        assert_true(managed_packed_bytes(one) < 1024);
        managed_packed_free(one);
        assert_int_equal(managed_unpack(two, a, &got, NULL), 0);
        managed_packed_free(two); /* what was read back stays */
        assert_int_equal(got.count, want.count);
        for (size_t i = 0; i < want.count; i++) {
                assert_true(str_eq(got.entries[i].manager, want.entries[i].manager));
                assert_true(str_eq(got.entries[i].subresource, want.entries[i].subresource));
                assert_int_equal(got.entries[i].operation, want.entries[i].operation);
                assert_int_equal(got.entries[i].broken, want.entries[i].broken);
                if (!want.entries[i].broken)
                        assert_true(fieldset_equal(got.entries[i].set, want.entries[i].set));
        }
        managed_packed_free(NULL);
        assert_int_equal(intern_count(pool), 0);
        assert_int_equal(intern_bytes(pool), 0);
        intern_pool_free(pool);
        intern_pool_free(NULL);
}

static void equal_texts_are_one(void **state) {
        struct intern_pool *pool = intern_pool_new();
        struct interned *x = intern_text(pool, STR("abc")), *y = intern_text(pool, STR("abc")),
                        *z = intern_text(pool, STR(""));

        (void)state;
        assert_ptr_equal(x, y);
        assert_ptr_not_equal(x, z);
        assert_text(interned_str(x), "abc");
        interned_unref(x);
        assert_text(interned_str(y), "abc");
        assert_int_equal(intern_count(pool), 2);
        interned_unref(y);
        interned_unref(z);
        interned_unref(NULL);
        assert_int_equal(intern_count(pool), 0);
        intern_pool_free(pool);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(ours_is_the_apply_entry_of_the_object_itself),
                cmocka_unit_test(owners_cover_a_path_also_from_above),
                cmocka_unit_test(other_owners_leave_us_and_the_keeper_out),
                cmocka_unit_test(a_bad_set_breaks_its_entry_only),
                cmocka_unit_test(what_is_no_list_of_owners_is_refused),
                cmocka_unit_test(too_many_owners_are_refused),
                cmocka_unit_test(the_reduced_form_keeps_what_decides),
                cmocka_unit_test(who_made_the_object_is_told_by_the_second),
                cmocka_unit_test(the_packed_form_remembers_who_made_the_object),
                cmocka_unit_test(packing_shares_texts_and_reads_back_the_same),
                cmocka_unit_test(equal_texts_are_one),
        };

        return cmocka_run_group_tests_name("managed", tests, setup, teardown);
}
