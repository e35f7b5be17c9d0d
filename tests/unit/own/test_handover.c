/* SPDX-License-Identifier: Apache-2.0 */
#include "own_test.h"
#include "own/handover.h"
#include "arena_test.h"

#define ENTRY(manager, op, fields)                                                                                     \
        "{'manager':'" manager "','operation':'" op                                                                    \
        "','apiVersion':'apps/v1','time':'2026-01-01T00:00:00Z','fieldsType':'FieldsV1',"                              \
        "'fieldsV1':" fields "}"

static const struct value *object(const char *entries) {
        return json(a, arena_strf(a, "{'metadata':{'resourceVersion':'7','managedFields':[%s]},'spec':{'replicas':3}}",
                                  entries)
                               .p);
}

static const struct value *with_owners(const struct value *o, const struct value *patch) {
        struct str keys[] = { STR("metadata"), STR("managedFields") };

        return value_with_path(a, o, keys, 2, value_getc(patch->list.items[1], "value"));
}

static void assert_patch_shape(const struct value *patch) {
        assert_int_equal(value_count(patch), 2);
        assert_text(value_canonical(a, patch->list.items[0]),
                    "{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"7\"}");
        assert_text(value_text(value_getc(patch->list.items[1], "path")), "/metadata/managedFields");
}

static void a_hand_over_moves_the_leaf_and_nothing_else(void **state) {
        const struct value *o = object(ENTRY("truce", "Apply",
                                             "{'f:metadata':{'f:labels':{'f:a':{}}},'f:spec':{'f:paused':{},'f:"
                                             "replicas':{}}}") "," ENTRY("kubectl", "Update", "{'f:spec':{'f:x':{}}}"));
        struct field_path p = dotted(a, "spec.replicas");
        const struct value *patch;
        struct managed after;

        (void)state;
        assert_int_equal(handover_give(o, &p, 1, a, &patch, &after, NULL), 0);
        assert_patch_shape(patch);
        const struct value *now = with_owners(o, patch);
        struct managed m = owners_of(a, now);
        assert_int_equal(m.count, 3);
        assert_text(fieldset_text(a, m.entries[0].set),
                    "{\"f:metadata\":{\"f:labels\":{\"f:a\":{}}},\"f:spec\":{\"f:paused\":{}}}");
        assert_text(m.entries[0].time, "2026-01-01T00:00:00Z");
        assert_text(fieldset_text(a, m.entries[1].set), "{\"f:spec\":{\"f:x\":{}}}");
        assert_text(m.entries[2].manager, "truce-keeper");
        assert_int_equal(m.entries[2].operation, MANAGED_UPDATE);
        assert_text(m.entries[2].api_version, "apps/v1");
        assert_text(fieldset_text(a, m.entries[2].set), "{\"f:spec\":{\"f:replicas\":{}}}");
        assert_int_equal(after.count, 2);
        assert_int_equal(handover_check(now, &after, a, NULL), 0);
}

static void a_hand_over_joins_an_existing_keeper(void **state) {
        const struct value *o = object(ENTRY("truce", "Apply", "{'f:spec':{'f:replicas':{}}}") "," ENTRY(
                "truce-keeper", "Update", "{'f:spec':{'f:paused':{}}}"));
        struct field_path p = dotted(a, "spec.replicas");
        const struct value *patch;
        struct managed after;

        (void)state;
        assert_int_equal(handover_give(o, &p, 1, a, &patch, &after, NULL), 0);
        struct managed m = owners_of(a, with_owners(o, patch));
        /* Nothing is left of our entry: it goes. */
        assert_int_equal(m.count, 1);
        assert_text(fieldset_text(a, m.entries[0].set), "{\"f:spec\":{\"f:paused\":{},\"f:replicas\":{}}}");
        assert_int_equal(handover_check(with_owners(o, patch), &after, a, NULL), 0);
}

static void list_items_keep_their_dot_with_us(void **state) {
        const struct value *o =
                object(ENTRY("truce", "Apply", "{'f:l':{'k:{\\'name\\':\\'c\\'}':{'.':{},'f:image':{},'f:name':{}}}}"));
        struct path_element item;
        const struct value *patch;
        struct managed after;

        (void)state;
        assert_int_equal(path_element_parse(STR("k:{\"name\":\"c\"}"), a, &item, NULL), 0);
        struct field_path p = field_path_join(a, field_path_join(a, dotted(a, "l"), item), path_field(STR("image")));
        assert_int_equal(handover_give(o, &p, 1, a, &patch, &after, NULL), 0);
        struct managed m = owners_of(a, with_owners(o, patch));
        assert_text(fieldset_text(a, m.entries[0].set),
                    "{\"f:l\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},\"f:name\":{}}}}");
        assert_text(fieldset_text(a, m.entries[1].set), "{\"f:l\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\"f:image\":{}}}}");
}

static void a_take_back_is_the_reverse(void **state) {
        const struct value *o = object(ENTRY("truce", "Apply", "{'f:spec':{'f:paused':{},'f:replicas':{}}}"));
        struct field_path p = dotted(a, "spec.replicas");
        const struct value *patch;
        struct managed after;

        (void)state;
        assert_int_equal(handover_give(o, &p, 1, a, &patch, &after, NULL), 0);
        const struct value *given = with_owners(o, patch);
        assert_int_equal(handover_take_back(given, &p, 1, STR("apps/v1"), a, &patch, &after, NULL), 0);
        const struct value *back = with_owners(given, patch);
        struct managed m = owners_of(a, back), first = owners_of(a, o);
        assert_int_equal(m.count, 1);
        assert_true(fieldset_equal(m.entries[0].set, first.entries[0].set));
        assert_int_equal(handover_check(back, &after, a, NULL), 0);
        assert_int_equal(handover_check(given, &after, a, NULL), ERR_CONFLICT);
}

static void a_take_back_makes_our_entry_when_it_is_gone(void **state) {
        const struct value *o = object(ENTRY("truce-keeper", "Update", "{'f:spec':{'f:replicas':{}}}"));
        struct field_path p = dotted(a, "spec.replicas");
        const struct value *patch;
        struct managed after;

        (void)state;
        assert_int_equal(handover_take_back(o, &p, 1, STR("apps/v1"), a, &patch, &after, NULL), 0);
        struct managed m = owners_of(a, with_owners(o, patch));
        assert_int_equal(m.count, 1);
        assert_true(managed_is_ours(&m.entries[0]));
        assert_text(m.entries[0].api_version, "apps/v1");
}

static void a_take_over_strips_only_what_is_named(void **state) {
        const struct value *o = object(ENTRY("truce", "Apply", "{'f:spec':{'f:replicas':{}}}") "," ENTRY(
                "kubectl-client-side-apply", "Update",
                "{'f:metadata':{'f:annotations':{'f:x':{}}},'f:spec':{'f:replicas':{}}}"));
        struct managed m = owners_of(a, o), after;
        const struct handover_strip strip = { &m.entries[1], set(a, "{'f:spec':{'f:replicas':{},'f:other':{}}}") };
        const struct handover_strip none = { &m.entries[1], set(a, "{'f:data':{}}") };
        const struct handover_strip ours = { &m.entries[0], set(a, "{'f:spec':{'f:replicas':{}}}") };
        const struct value *patch;

        (void)state;
        assert_int_equal(handover_take_over(o, &strip, 1, STR("apps/v1"), a, &patch, &after, NULL), 0);
        m = owners_of(a, with_owners(o, patch));
        assert_text(fieldset_text(a, m.entries[0].set), "{\"f:spec\":{\"f:replicas\":{}}}");
        assert_text(fieldset_text(a, m.entries[1].set), "{\"f:metadata\":{\"f:annotations\":{\"f:x\":{}}}}");
        assert_int_equal(handover_take_over(o, &none, 1, STR("apps/v1"), a, &patch, &after, NULL), ERR_NOTFOUND);
        assert_int_equal(handover_take_over(o, &ours, 1, STR("apps/v1"), a, &patch, &after, NULL), ERR_NOTFOUND);
}

static void a_take_over_moves_what_is_to_be_dropped_into_our_entry(void **state) {
        const struct value *o = object(ENTRY("kubectl-edit", "Update", "{'f:spec':{'f:a':{},'f:b':{}}}") "," ENTRY(
                "k9s", "Update", "{'f:spec':{'f:b':{},'f:c':{}}}"));
        struct managed m = owners_of(a, o), after;
        const struct handover_strip strips[] = {
                { &m.entries[0], set(a, "{'f:spec':{'f:a':{},'f:b':{}}}"), true },
                { &m.entries[1], set(a, "{'f:spec':{'f:b':{}}}"), true },
                { &m.entries[1], set(a, "{'f:spec':{'f:c':{}}}"), false },
        };
        const struct value *patch;

        (void)state;
        assert_int_equal(handover_take_over(o, strips, 3, STR("apps/v1"), a, &patch, &after, NULL), 0);
        m = owners_of(a, with_owners(o, patch));
        assert_int_equal(m.count, 1);
        assert_true(managed_is_ours(&m.entries[0]));
        assert_text(m.entries[0].api_version, "apps/v1");
        assert_text(fieldset_text(a, m.entries[0].set), "{\"f:spec\":{\"f:a\":{},\"f:b\":{}}}");
        assert_int_equal(handover_check(with_owners(o, patch), &after, a, NULL), 0);
        assert_int_equal(handover_check(o, &after, a, NULL), ERR_CONFLICT);
}

static void what_cannot_be_moved_is_an_error(void **state) {
        struct field_path p = dotted(a, "spec.replicas");
        const struct value *none = object(ENTRY("truce", "Apply", "{'f:spec':{'f:x':{}}}"));
        const struct value *broken = object(ENTRY("truce", "Apply", "{'x':{}}"));
        const struct value *patch;
        struct managed after;

        (void)state;
        assert_int_equal(handover_give(none, &p, 1, a, &patch, &after, NULL), ERR_NOTFOUND);
        assert_int_equal(handover_give(broken, &p, 1, a, &patch, &after, NULL), ERR_NOTFOUND);
        assert_int_equal(handover_take_back(none, &p, 1, STR("v1"), a, &patch, &after, NULL), ERR_NOTFOUND);
        assert_int_equal(handover_give(json(a, "{'metadata':{}}"), &p, 1, a, &patch, &after, NULL), ERR_INVAL);
        assert_int_equal(handover_give(json(a, "{'metadata':{'managedFields':[]}}"), &p, 1, a, &patch, &after, NULL),
                         ERR_INVAL);
        assert_int_equal(handover_give(json(a, "{'metadata':{'resourceVersion':'1','managedFields':['x']}}"), &p, 1, a,
                                       &patch, &after, NULL),
                         ERR_PARSE);
}

static void a_dropped_entry_is_noticed(void **state) {
        const struct value *o = object(ENTRY("truce", "Apply", "{'f:spec':{'f:paused':{},'f:replicas':{}}}"));
        struct field_path p = dotted(a, "spec.replicas");
        const struct value *patch;
        struct managed after;

        (void)state;
        assert_int_equal(handover_give(o, &p, 1, a, &patch, &after, NULL), 0);
        assert_int_equal(handover_check(object(""), &after, a, NULL), ERR_CONFLICT);
        assert_int_equal(handover_check(object(ENTRY("truce", "Apply", "{'f:spec':{'f:paused':{}}}")), &after, a, NULL),
                         ERR_CONFLICT);
        assert_int_equal(handover_check(json(a, "{'metadata':{'managedFields':1}}"), &after, a, NULL), ERR_PARSE);
}

static enum handover_kind decided(const char *entries, enum handover_wish wish, bool hold) {
        struct managed m = owners_of(a, object(entries));

        return handover_decide(&m, NULL, dotted(a, "spec.replicas"), wish, hold);
}

static void who_holds_a_path_decides_how_it_leaves(void **state) {
        const char *ours = ENTRY("truce", "Apply", "{'f:spec':{'f:replicas':{}}}");
        const char *shared = ENTRY("truce", "Apply", "{'f:spec':{'f:replicas':{}}}") "," ENTRY(
                "x", "Update", "{'f:spec':{'f:replicas':{}}}");
        const char *kept = ENTRY("truce", "Apply", "{'f:spec':{'f:x':{}}}") "," ENTRY("truce-keeper", "Update",
                                                                                      "{'f:spec':{'f:replicas':{}}}");

        (void)state;
        assert_int_equal(decided(ours, HANDOVER_YIELD, false), HANDOVER_GIVE);
        assert_int_equal(decided(shared, HANDOVER_YIELD, false), HANDOVER_JUST_LEAVE);
        assert_int_equal(decided(kept, HANDOVER_YIELD, false), HANDOVER_NOTHING);
        assert_int_equal(decided("", HANDOVER_YIELD, false), HANDOVER_NOTHING);
        assert_int_equal(decided(ours, HANDOVER_OWN, false), HANDOVER_NOTHING);
        assert_int_equal(decided(kept, HANDOVER_OWN, false), HANDOVER_TAKE_BACK);
        assert_int_equal(decided(kept, HANDOVER_OWN, true), HANDOVER_WAIT);
        assert_int_equal(decided(kept, HANDOVER_DROP, false), HANDOVER_TAKE_BACK);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_hand_over_moves_the_leaf_and_nothing_else),
                cmocka_unit_test(a_hand_over_joins_an_existing_keeper),
                cmocka_unit_test(list_items_keep_their_dot_with_us),
                cmocka_unit_test(a_take_back_is_the_reverse),
                cmocka_unit_test(a_take_back_makes_our_entry_when_it_is_gone),
                cmocka_unit_test(a_take_over_strips_only_what_is_named),
                cmocka_unit_test(a_take_over_moves_what_is_to_be_dropped_into_our_entry),
                cmocka_unit_test(what_cannot_be_moved_is_an_error),
                cmocka_unit_test(a_dropped_entry_is_noticed),
                cmocka_unit_test(who_holds_a_path_decides_how_it_leaves),
        };

        return cmocka_run_group_tests_name("handover", tests, setup, teardown);
}
