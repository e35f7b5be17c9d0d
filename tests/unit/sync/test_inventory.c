/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/inventory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct inventory_entry *add(struct inventory *inv, const char *id) {
        return inventory_add(inv, str_from(id), STR("v1"));
}

static void an_id_has_four_parts(void **state) {
        struct inventory_id id;

        (void)state;
        assert_true(inventory_id_split(STR("apps/Deployment/shop/web"), &id));
        assert_true(str_eqc(id.group, "apps") && str_eqc(id.kind, "Deployment"));
        assert_true(str_eqc(id.namespace, "shop") && str_eqc(id.name, "web"));
        assert_true(inventory_id_split(STR("/Namespace//shop"), &id));
        assert_int_equal(id.group.n + id.namespace.n, 0);
        assert_false(inventory_id_split(STR("apps/Deployment/shop"), &id));
        assert_false(inventory_id_split(STR("apps/Deployment/shop/web/x"), &id));
        assert_false(inventory_id_split(STR("apps//shop/web"), &id));
        assert_false(inventory_id_split(STR("apps/Deployment/shop/"), &id));
}

static void what_is_printed_is_read_back(void **state) {
        _cleanup_(inventory_freep) struct inventory *inv = inventory_new(), *back = inventory_new();
        _cleanup_(buf_done) struct buf first = buf_make(4096), second = buf_make(4096);
        struct hash128 fingerprint = { 1, 2 };
        unsigned shards = 0;

        (void)state;
        struct inventory_entry *e = add(inv, "apps/Deployment/shop/web");
        inventory_set_uid(e, STR("0b2c"));
        inventory_set_fingerprint(e, &fingerprint);
        inventory_set_file(e, STR("a b/web.yaml"));
        e->flags = INVENTORY_ADOPTED | INVENTORY_KEEP;
        inventory_begin_hold(e, UINT64_MAX, INT64_C(1700000000123));
        inventory_begin_hold(e, 7, INT64_C(1700000000124));
        add(inv, "/Namespace//shop")->flags = INVENTORY_PENDING;

        inventory_print(inv, 0, 1, &first);
        assert_int_equal(inventory_parse(back, 0, buf_str(&first), &shards, NULL), 0);
        assert_int_equal(shards, 1);
        inventory_print(back, 0, 1, &second);
        assert_string_equal(first.p, second.p);
        e = inventory_find(back, STR("apps/Deployment/shop/web"));
        assert_string_equal(e->uid, "0b2c");
        assert_string_equal(e->file, "a b/web.yaml");
        assert_true(e->has_fingerprint && hash128_eq(e->fingerprint, fingerprint));
        assert_int_equal(e->hold_count, 2);
        assert_int_equal(e->holds[0].id, 7);
        assert_int_equal(e->holds[0].since_ms, INT64_C(1700000000124));
        assert_true(e->holds[1].id == UINT64_MAX);
        assert_int_equal(e->holds[1].since_ms, INT64_C(1700000000123));
        assert_null(inventory_find(back, STR("/Namespace//shop"))->uid);
        assert_int_equal(inventory_find(back, STR("/Namespace//shop"))->hold_count, 0);
}

static void holds_are_kept_by_path(void **state) {
        _cleanup_(inventory_freep) struct inventory *inv = inventory_new();
        static const char *const old = "truce-inventory 1 1\n/ConfigMap/shop/a\tv1\t-\t-\t0\t-\t1700000000123\n";
        struct inventory_entry *e = add(inv, "apps/Deployment/shop/web");
        unsigned shards;

        (void)state;
        inventory_begin_hold(e, 5, 100);
        inventory_begin_hold(e, 3, 200);
        inventory_begin_hold(e, 5, 300);
        inventory_begin_hold(e, 3, 150);
        assert_int_equal(e->hold_count, 2);
        assert_int_equal(e->holds[0].since_ms, 150);
        assert_int_equal(e->holds[1].since_ms, 100);
        assert_false(inventory_end_hold(e, 4));
        assert_true(inventory_end_hold(e, 3));
        assert_false(inventory_end_hold(e, 3));
        assert_int_equal(e->hold_count, 1);
        assert_int_equal(e->holds[0].id, 5);

        assert_int_equal(inventory_parse(inv, 0, str_from(old), &shards, NULL), 0);
        assert_int_equal(inventory_find(inv, STR("/ConfigMap/shop/a"))->hold_count, 0);
}

static void damaged_holds_are_refused(void **state) {
        static const char *const bad[] = { "x", "1:", ":1", "1:g", "1:1,x", "1:1\t2:2", "1:00000000000000001", "ffffffffffffffff:1" };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                _cleanup_(inventory_freep) struct inventory *inv = inventory_new();
                _cleanup_(buf_done) struct buf text = buf_make(4096);
                unsigned shards;

                buf_addf(&text, "truce-inventory 1 1\n/ConfigMap/shop/a\tv1\t-\t-\t0\t-\t%s\n", bad[i]);
                if (inventory_parse(inv, 0, buf_str(&text), &shards, NULL) != ERR_CORRUPT)
                        fail_msg("%s was taken", bad[i]);
        }
}

static void damaged_text_is_refused_with_its_line(void **state) {
        static const char *const bad[] = {
                "",
                "truce-inventory 2 1\n",
                "truce-inventory 1 3\n",
                "truce-inventory 1 128\n",
                "truce-inventory 1 1\n/ConfigMap/a/b\tv1\t-\t-\t0\n",
                "truce-inventory 1 1\n/ConfigMap/a/b\tv1\t-\tzz\t0\t-\n",
                "truce-inventory 1 1\n/ConfigMap/a/b\tv1\t-\t-\tx\t-\n",
                "truce-inventory 1 1\nConfigMap/b\tv1\t-\t-\t0\t-\n",
                "truce-inventory 1 1\n/ConfigMap/a/b\tv1\t-\t-\t0\t-\textra\n",
                "truce-inventory 1 1\n/ConfigMap/a/b\tv1\t-\t-\t0\t-\t7\textra\n",
                "truce-inventory 1 1\n/ConfigMap/a/b\tv1\t-\t-\t0\t-\t18446744073709551615\n",
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                _cleanup_(inventory_freep) struct inventory *inv = inventory_new();
                struct err err = { 0 };
                unsigned shards = 7;

                assert_int_equal(inventory_parse(inv, 0, str_from(bad[i]), &shards, &err), ERR_CORRUPT);
                assert_int_equal(shards, 7);
                assert_non_null(strstr(err.msg, "line"));
        }
}

static void a_large_inventory_is_spread_over_shards_and_nothing_is_lost(void **state) {
        _cleanup_(inventory_freep) struct inventory *inv = inventory_new(), *back = inventory_new();
        unsigned shards, stored = 0;

        (void)state;
        for (int i = 0; i < INVENTORY_SHARD_OBJECTS * 3; i++) {
                char id[64];

                snprintf(id, sizeof id, "/ConfigMap/ns/c%d", i);
                add(inv, id);
        }
        shards = inventory_shards(inv, 1);
        assert_int_equal(shards, 4);
        assert_int_equal(inventory_shards(inv, 8), 8);
        for (unsigned s = 0; s < shards; s++) {
                _cleanup_(buf_done) struct buf text = buf_make(1024 * 1024);

                inventory_print(inv, s, shards, &text);
                assert_int_equal(inventory_parse(back, s, buf_str(&text), &stored, NULL), 0);
                assert_int_equal(stored, shards);
        }
        assert_int_equal(inventory_count(back), inventory_count(inv));
}

/* An id that belongs to the given shard of two. */
static void id_in_shard(unsigned want, char *ret_id, size_t size) {
        for (int i = 0;; i++) {
                _cleanup_(inventory_freep) struct inventory *inv = inventory_new();
                _cleanup_(buf_done) struct buf text = buf_make(4096);

                snprintf(ret_id, size, "/ConfigMap/ns/c%d", i);
                add(inv, ret_id);
                inventory_print(inv, want, 2, &text);
                if (strstr(text.p, ret_id))
                        return;
        }
}

/*
 * A crash between the writes of a growing inventory: shard 1 of two is written, shard 0 is still the only one of one.
 * The text of one shard says that everything belongs to shard 0, so both claim the id; the one read last wins, and
 * shards are read in order.
 */
static void while_it_grows_an_id_in_two_shards_is_read_once(void **state) {
        _cleanup_(inventory_freep) struct inventory *old = inventory_new(), *new = inventory_new(),
                                                    *back = inventory_new();
        _cleanup_(buf_done) struct buf old_text = buf_make(4096), new_text = buf_make(4096);
        unsigned shards;
        char id[64];

        (void)state;
        id_in_shard(1, id, sizeof id);
        inventory_set_uid(add(old, id), STR("old"));
        inventory_set_uid(add(new, id), STR("new"));
        inventory_print(old, 0, 1, &old_text);
        inventory_print(new, 1, 2, &new_text);

        assert_int_equal(inventory_parse(back, 0, buf_str(&old_text), &shards, NULL), 0);
        assert_int_equal(inventory_parse(back, 1, buf_str(&new_text), &shards, NULL), 0);
        assert_int_equal(inventory_count(back), 1);
        assert_string_equal(inventory_find(back, str_from(id))->uid, "new");
}

/* The other way round: shard 0 was rewritten for one shard of a larger count by an older writer and holds a stray line. */
static void a_stray_line_never_beats_the_shard_the_id_belongs_to(void **state) {
        _cleanup_(inventory_freep) struct inventory *right = inventory_new(), *back = inventory_new();
        _cleanup_(buf_done) struct buf right_text = buf_make(4096), stray_text = buf_make(4096);
        unsigned shards;
        char id[64];

        (void)state;
        id_in_shard(1, id, sizeof id);
        inventory_set_uid(add(right, id), STR("right"));
        inventory_print(right, 1, 2, &right_text);
        buf_addf(&stray_text, "truce-inventory 1 2\n%s\tv1\tstray\t-\t0\t-\n", id);

        assert_int_equal(inventory_parse(back, 1, buf_str(&right_text), &shards, NULL), 0);
        assert_int_equal(inventory_parse(back, 0, buf_str(&stray_text), &shards, NULL), 0);
        assert_string_equal(inventory_find(back, str_from(id))->uid, "right");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_id_has_four_parts),
                cmocka_unit_test(what_is_printed_is_read_back),
                cmocka_unit_test(holds_are_kept_by_path),
                cmocka_unit_test(damaged_holds_are_refused),
                cmocka_unit_test(damaged_text_is_refused_with_its_line),
                cmocka_unit_test(a_large_inventory_is_spread_over_shards_and_nothing_is_lost),
                cmocka_unit_test(while_it_grows_an_id_in_two_shards_is_read_once),
                cmocka_unit_test(a_stray_line_never_beats_the_shard_the_id_belongs_to),
        };

        return cmocka_run_group_tests_name("inventory", tests, NULL, NULL);
}
