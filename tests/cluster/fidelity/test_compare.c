/* SPDX-License-Identifier: Apache-2.0 */
/* What is normalised of a body is exactly that: beside each thing that may differ stands one that may not. */
#include "comparing.h"

/* --- uids --- */

static void a_uid_stands_for_the_one_it_was_first_seen_with(void **state) {
        struct comparing *c = *state;

        assert_same(c, "{'uid':'" UID_A "'}", "{'uid':'" UID_B "'}");
        assert_same(c, "{'owner':{'uid':'" UID_A "'}}", "{'owner':{'uid':'" UID_B "'}}");
        assert_same(c, "{'other':'" UID_A "'}", "{'other':'" UID_B "'}");
        assert_differs(c, "{'uid':'" UID_A "'}", "{'uid':'" UID_C "'}", "/uid: " UID_A " (U1.0), " UID_C);
        assert_differs(c, "{'uid':'" UID_C "'}", "{'uid':'" UID_B "'}", "/uid: " UID_C ", " UID_B " (U1.0)");
        assert_same(c, "{'uid':'" UID_C "'}", "{'uid':'" UID_D "'}");
        assert_differs(c, "{'uid':'" UID_A "'}", "{'uid':'" UID_D "'}", "/uid: " UID_A " (U1.0), " UID_D " (U1.1)");
}

static void what_is_no_uid_must_be_equal(void **state) {
        struct comparing *c = *state;

        assert_differs(c, "{'uid':'a'}", "{'uid':'b'}", "/uid: a, b");
        assert_differs(c, "{'uid':'" UID_A "'}", "{'uid':'b'}", "/uid: @uid@, b");
        assert_differs(c, "{'uid':'a'}", "{'uid':'" UID_B "'}", "/uid: a, @uid@");
        assert_differs(c, "{'uid':'" UID_A "'}", "{'uid':''}", "/uid: @uid@, ");
        assert_differs(c, "{'uid':'" UID_A "'}", "{}", "/uid: \"" UID_A "\", (absent)");
        assert_differs(c, "{'x':'aaaaaaaa 0000 4000 8000 000000000001'}",
                       "{'x':'bbbbbbbb 0000 4000 8000 000000000001'}",
                       "/x: aaaaaaaa 0000 4000 8000 000000000001, bbbbbbbb 0000 4000 8000 000000000001");
}

static void a_given_uid_must_be_kept(void **state) {
        struct comparing *c = *state;

        assert_same(c, "{'uid':'11111111-0000-0000-0000-000000000000'}",
                    "{'uid':'11111111-0000-0000-0000-000000000000'}");
        assert_differs(c, "{'uid':'11111111-0000-0000-0000-000000000000'}",
                       "{'uid':'11111111-0000-0000-0000-000000000001'}",
                       "/uid: 11111111-0000-0000-0000-000000000000, 11111111-0000-0000-0000-000000000001");
        assert_differs(c, "{'uid':'11111111-0000-0000-0000-000000000000'}", "{'uid':'" UID_A "'}",
                       "/uid: 11111111-0000-0000-0000-000000000000, @uid@");
        assert_differs(c, "{'uid':'" UID_A "'}", "{'uid':'11111111-0000-0000-0000-000000000000'}",
                       "/uid: @uid@, 11111111-0000-0000-0000-000000000000");
}

/* --- versions --- */

#define VERSION(v) "{'metadata':{'name':'a','resourceVersion':'" v "'}}"

static void a_version_stands_for_the_one_it_was_first_seen_with(void **state) {
        struct comparing *c = *state;

        assert_same(c, VERSION("100"), VERSION("7"));
        assert_same(c, VERSION("100"), VERSION("7"));
        assert_same(c, VERSION("105"), VERSION("8"));
        assert_differs(c, VERSION("100"), VERSION("8"), "/metadata/resourceVersion: 100 (V1.0), 8 (V1.1)");
        assert_differs(c, VERSION("100"), VERSION("9"), "/metadata/resourceVersion: 100 (V1.0), 9");
        assert_differs(c, VERSION("106"), VERSION("8"), "/metadata/resourceVersion: 106, 8 (V1.1)");
}

static void versions_are_in_the_same_order(void **state) {
        struct comparing *c = *state;

        assert_same(c, VERSION("100"), VERSION("10"));
        assert_same(c, VERSION("300"), VERSION("30"));
        assert_differs(c, VERSION("400"), VERSION("29"), "/metadata/resourceVersion: another order of versions, 29");
        assert_differs(c, VERSION("299"), VERSION("40"), "/metadata/resourceVersion: another order of versions, 40");
        /* Older than the newest, but not so old on one side. */
        assert_differs(c, VERSION("200"), VERSION("9"), "/metadata/resourceVersion: another order of versions, 9");
        assert_differs(c, VERSION("99"), VERSION("20"), "/metadata/resourceVersion: another order of versions, 20");
        assert_same(c, VERSION("200"), VERSION("20"));
        assert_same(c, VERSION("99"), VERSION("9"));
        /* As numbers. */
        assert_same(c, VERSION("1000"), VERSION("31"));
}

static void what_is_no_version_must_be_equal(void **state) {
        struct comparing *c = *state;

        assert_differs(c, VERSION("odd"), VERSION("even"), "/metadata/resourceVersion: odd, even");
        assert_differs(c, VERSION("100"), VERSION(""), "/metadata/resourceVersion: 100, ");
        assert_differs(c, VERSION("100"), VERSION("x"), "/metadata/resourceVersion: 100, x");
        assert_differs(c, VERSION("x"), VERSION("100"), "/metadata/resourceVersion: x, 100");
        assert_differs(c, VERSION("100"), "{'metadata':{'name':'a'}}", "/metadata/resourceVersion: \"100\", (absent)");
        assert_differs(c, "{'version':'100'}", "{'version':'7'}", "/version: 100, 7");
        assert_differs(c, "{'generation':2}", "{'generation':3}", "/generation: 2, 3");
}

#define LIST(v) "{'metadata':{'resourceVersion':'" v "'}}"

static void a_lists_version_is_of_the_moment_but_not_of_the_past(void **state) {
        struct comparing *c = *state;

        assert_same(c, LIST("120"), LIST("5"));
        assert_same(c, VERSION("100"), VERSION("7"));
        assert_same(c, LIST("120"), LIST("7"));
        assert_same(c, LIST("99"), LIST("6"));
        assert_differs(c, LIST("120"), LIST("6"), "/metadata/resourceVersion: 120, 6");
        assert_differs(c, LIST("99"), LIST("7"), "/metadata/resourceVersion: 99, 7");
        assert_differs(c, LIST("120"), LIST(""), "/metadata/resourceVersion: 120, ");
        assert_differs(c, "{'metadata':{'uid':'" UID_A "','resourceVersion':'100'}}",
                       "{'metadata':{'uid':'" UID_B "','resourceVersion':'8'}}",
                       "/metadata/resourceVersion: 100 (V1.0), 8");
        /* An item's are its own again. */
        assert_differs(c, "{'metadata':{'x':{'resourceVersion':'100'}}}", "{'metadata':{'x':{'resourceVersion':'8'}}}",
                       "/metadata/x/resourceVersion: 100 (V1.0), 8");
        assert_differs(c, "{'metadata':{'resourceVersion':'120'},'z':{'resourceVersion':'100'}}",
                       "{'metadata':{'resourceVersion':'7'},'z':{'resourceVersion':'8'}}",
                       "/z/resourceVersion: 100 (V1.0), 8");
}

/* --- times --- */

#define TIME(t) "{'time':'" t "'}"

static void moments_may_be_a_second_apart(void **state) {
        struct comparing *c = *state;

        assert_same(c, TIME("2026-01-01T00:00:05Z"), TIME("2026-01-01T00:00:05Z"));
        assert_false(c->found.skewed);
        assert_same(c, TIME("2026-01-01T00:00:05Z"), TIME("2026-01-01T00:00:06Z"));
        assert_true(c->found.skewed);
        assert_same(c, TIME("2026-01-01T00:00:06Z"), TIME("2026-01-01T00:00:05Z"));
        assert_same(c, TIME("2026-12-31T23:59:59Z"), TIME("2027-01-01T00:00:00Z"));
        assert_differs(c, TIME("2026-01-01T00:00:05Z"), TIME("2026-01-01T00:00:07Z"),
                       "/time: 2026-01-01T00:00:05Z, 2026-01-01T00:00:07Z");
        assert_differs(c, TIME("2026-01-01T00:00:07Z"), TIME("2026-01-01T00:00:05Z"),
                       "/time: 2026-01-01T00:00:07Z, 2026-01-01T00:00:05Z");
}

static void each_part_of_a_time_counts(void **state) {
        static const char *const others[] = { "2025-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-01-02T00:00:00Z",
                                              "2026-01-01T01:00:00Z", "2026-01-01T00:01:00Z" };
        struct comparing *c = *state;

        for (size_t i = 0; i < ARRAY_LEN(others); i++)
                assert_string_not_equal(
                        bodies(c, TIME("2026-01-01T00:00:00Z"), arena_strf(c->a, "{'time':'%s'}", others[i]).p), "");
}

static void fractions_of_a_second_are_the_clients(void **state) {
        struct comparing *c = *state;

        assert_differs(c, TIME("2026-01-01T00:00:05.100000Z"), TIME("2026-01-01T00:00:05.200000Z"),
                       "/time: 2026-01-01T00:00:05.100000Z, 2026-01-01T00:00:05.200000Z");
        assert_differs(c, TIME("2026-01-01T00:00:05Z"), TIME("2026-01-01T00:00:05.000000Z"),
                       "/time: 2026-01-01T00:00:05Z, 2026-01-01T00:00:05.000000Z");
        assert_differs(c, TIME("2026-01-01T00:00:05Z"), TIME("2026-01-01 00:00:06Z"),
                       "/time: 2026-01-01T00:00:05Z, 2026-01-01 00:00:06Z");
        assert_differs(c, TIME("2026-01-01T00:00:05+"), TIME("2026-01-01T00:00:06+"),
                       "/time: 2026-01-01T00:00:05+, 2026-01-01T00:00:06+");
        assert_differs(c, "{'time':null}", TIME("2026-01-01T00:00:05Z"), "/time: null, \"2026-01-01T00:00:05Z\"");
        assert_differs(c, "{'t':'at 2026-01-01T00:00:05Z'}", "{'t':'at 2026-01-01T00:00:06Z'}",
                       "/t: at 2026-01-01T00:00:05Z, at 2026-01-01T00:00:06Z");
}

static void ages_in_a_table_may_be_a_second_apart(void **state) {
        struct comparing *c = *state;

        assert_same(c, "{'rows':[{'cells':['a','9s']}]}", "{'rows':[{'cells':['a','10s']}]}");
        assert_same(c, "{'cells':['1s']}", "{'cells':['0s']}");
        assert_same(c, "{'cells':['0s']}", "{'cells':['1s']}");
        assert_differs(c, "{'cells':['2s']}", "{'cells':['0s']}", "/cells/0: 2s, 0s");
        assert_differs(c, "{'cells':['0s']}", "{'cells':['2s']}", "/cells/0: 0s, 2s");
        assert_differs(c, "{'cells':['1m']}", "{'cells':['2m']}", "/cells/0: 1m, 2m");
        assert_differs(c, "{'cells':['1']}", "{'cells':['2']}", "/cells/0: 1, 2");
        assert_differs(c, "{'cells':['s']}", "{'cells':['1s']}", "/cells/0: s, 1s");
        assert_differs(c, "{'cells':[{'x':'1s'}]}", "{'cells':[{'x':'3s'}]}", "/cells/0/x: 1s, 3s");
        assert_differs(c, "{'other':['1s']}", "{'other':['2s']}", "/other/0: 1s, 2s");
        assert_differs(c, "{'cells':['1s'],'other':'1s'}", "{'cells':['1s'],'other':'2s'}", "/other: 1s, 2s");
}

/* --- names, addresses, ports, tokens --- */

#define MADE(name) "{'metadata':{'generateName':'made-','name':'" name "'}}"

static void a_generated_name_stands_for_the_one_it_was_first_seen_with(void **state) {
        struct comparing *c = *state;

        assert_same(c, MADE("made-abcde"), MADE("made-fghij"));
        assert_same(c, MADE("made-abcde"), MADE("made-fghij"));
        assert_same(c, "{'x':'see made-abcde.'}", "{'x':'see made-fghij.'}");
        assert_differs(c, "{'x':'see made-abcde'}", "{'x':'see made-other'}", "/x: see @N1.0@, see @name@");
        assert_differs(c, MADE("made-abcde"), MADE("made-other"),
                       "/metadata: made-abcde (N1.0), made-other; /metadata/name: @N1.0@, @name@");
}

static void a_name_that_nobody_generated_must_be_equal(void **state) {
        struct comparing *c = *state;

        assert_differs(c, "{'metadata':{'name':'one-abcde'}}", "{'metadata':{'name':'one-fghij'}}",
                       "/metadata/name: one-abcde, one-fghij");
        assert_differs(c, "{'metadata':{'generateName':'x-','name':'y-abcde'}}",
                       "{'metadata':{'generateName':'x-','name':'y-fghij'}}", "/metadata/name: y-abcde, y-fghij");
        assert_differs(c, "{'metadata':{'generateName':'x-','name':'x-abcde'}}",
                       "{'metadata':{'generateName':'x-','name':'x-fghijk'}}", "/metadata/name: x-abcde, x-fghijk");
        assert_differs(c, "{'metadata':{'generateName':'x-','name':'x-abcdef'}}",
                       "{'metadata':{'generateName':'x-','name':'x-fghijk'}}", "/metadata/name: x-abcdef, x-fghijk");
        assert_differs(c, "{'metadata':{'generateName':'','name':'abcde'}}",
                       "{'metadata':{'generateName':'','name':'fghij'}}", "/metadata/name: abcde, fghij");
}

static void an_allotted_address_stands_for_the_one_it_was_first_seen_with(void **state) {
        struct comparing *c = *state;

        assert_same(c, "{'clusterIP':'10.96.0.1','clusterIPs':['10.96.0.1']}",
                    "{'clusterIP':'10.96.0.2','clusterIPs':['10.96.0.2']}");
        assert_differs(c, "{'clusterIP':'10.96.0.1'}", "{'clusterIP':'10.96.0.3'}",
                       "/clusterIP: 10.96.0.1 (A1.0), 10.96.0.3");
        assert_differs(c, "{'clusterIP':'10.96.0.1'}", "{'clusterIP':'None'}", "/clusterIP: @A1.0@, None");
        assert_differs(c, "{'clusterIP':'10.97.0.1'}", "{'clusterIP':'10.97.0.2'}", "/clusterIP: 10.97.0.1, 10.97.0.2");
}

static void an_allotted_port_stands_for_the_one_it_was_first_seen_with(void **state) {
        struct comparing *c = *state;

        assert_same(c, "{'nodePort':30000}", "{'nodePort':32767}");
        assert_same(c, "{'nodePort':30000}", "{'nodePort':32767}");
        assert_differs(c, "{'nodePort':30000}", "{'nodePort':31000}", "/nodePort: 30000 (P1.0), 31000");
        assert_differs(c, "{'nodePort':29999}", "{'nodePort':29998}", "/nodePort: 29999, 29998");
        assert_differs(c, "{'nodePort':31000}", "{'nodePort':80}", "/nodePort: 31000, 80");
        assert_differs(c, "{'nodePort':'31000'}", "{'nodePort':'31001'}", "/nodePort: 31000, 31001");
}

static void a_continue_token_stands_for_the_one_it_was_first_seen_with(void **state) {
        struct comparing *c = *state;

        assert_same(c, "{'metadata':{'continue':'abc'}}", "{'metadata':{'continue':'xyz'}}");
        assert_differs(c, "{'metadata':{'continue':'abc'}}", "{'metadata':{'continue':'def'}}",
                       "/metadata/continue: abc (T1.0), def");
        assert_differs(c, "{'metadata':{'continue':'new'}}", "{'metadata':{'continue':''}}",
                       "/metadata/continue: new, ");
        assert_differs(c, "{'metadata':{'continue':''}}", "{'metadata':{'continue':'new'}}",
                       "/metadata/continue: , new");
        assert_differs(c, "{'metadata':{'remainingItemCount':1}}", "{'metadata':{'remainingItemCount':2}}",
                       "/metadata/remainingItemCount: 1, 2");
}

/* --- all else --- */

static void a_value_of_any_kind_that_differs_is_found(void **state) {
        static const struct {
                const char *real, *sandbox, *wanted;
        } cases[] = {
                { "{'x':1}", "{'x':2}", "/x: 1, 2" },
                { "{'x':1}", "{'x':1.0}", "/x: 1, 1.0" },
                { "{'x':1.5}", "{'x':1.50}", "/x: 1.5, 1.50" },
                { "{'x':1}", "{'x':'1'}", "/x: 1, \"1\"" },
                { "{'x':true}", "{'x':false}", "/x: true, false" },
                { "{'x':null}", "{'x':{}}", "/x: null, {}" },
                { "{'x':{}}", "{'x':[]}", "/x: {}, []" },
                { "{'x':''}", "{'x':null}", "/x: \"\", null" },
                { "{'x':'a'}", "{'x':'b'}", "/x: a, b" },
                { "{'x':'a'}", "{'x':'a '}", "/x: a, a " },
                { "{'x':null}", "{}", "/x: null, (absent)" },
                { "{}", "{'x':null}", "/x: (absent), null" },
                { "{'x':1}", "{'y':1}", "/x: 1, (absent); /y: (absent), 1" },
                { "{'b':1}", "{'a':1,'b':1}", "/a: (absent), 1" },
                { "{'a':1,'b':1}", "{'b':1}", "/a: 1, (absent)" },
                { "{'a':{'b':[{'c':1}]}}", "{'a':{'b':[{'c':2}]}}", "/a/b/0/c: 1, 2" },
                { "1", "2", ": 1, 2" },
        };
        struct comparing *c = *state;

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_differs(c, cases[i].real, cases[i].sandbox, cases[i].wanted);
}

static void items_of_lists_have_an_order(void **state) {
        struct comparing *c = *state;

        assert_differs(c, "{'x':['a','b']}", "{'x':['b','a']}", "/x/0: a, b; /x/1: b, a");
        assert_differs(c, "{'items':[{'metadata':{'name':'a'}},{'metadata':{'name':'b'}}]}",
                       "{'items':[{'metadata':{'name':'b'}},{'metadata':{'name':'a'}}]}",
                       "/items/0/metadata/name: a, b; /items/1/metadata/name: b, a");
        assert_differs(c, "{'x':['a']}", "{'x':['a','b']}", "/x/1: (absent), \"b\"");
        assert_differs(c, "{'x':['a','b']}", "{'x':['b']}", "/x/0: a, b; /x/1: \"b\", (absent)");
}

static void managed_fields_are_compared_whole(void **state) {
        static const char real[] =
                "{'managedFields':[{'apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{'f:data':{'.':{}"
                ",'f:x':{}}},'manager':'m','operation':'Apply','time':'2026-01-01T00:00:00Z'},"
                "{'manager':'n','operation':'Update','subresource':'status'}]}";
        static const struct {
                const char *from, *to;
        } changes[] = {
                { "'v1'", "'v2'" },
                { "'FieldsV1'", "'FieldsV2'" },
                { "'f:x':{}", "'f:y':{}" },
                { "'.':{},", "" },
                { "{'.':{}", "{'.':{'f:z':{}}" },
                { "'m'", "'o'" },
                { "'Apply'", "'Update'" },
                { "'status'", "'scale'" },
                { ",'subresource':'status'", "" },
                { "T00:00:00Z", "T00:01:00Z" },
        };
        struct comparing *c = *state;

        assert_same(c, real, real);
        for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
                ptrdiff_t at = str_find(str_from(real), changes[i].from[0], 0);

                while (!str_starts(str_sub(str_from(real), (size_t)at, sizeof real), str_from(changes[i].from)))
                        at++;
                assert_string_not_equal(bodies(c, real,
                                               arena_strf(c->a, "%.*s%s%s", (int)at, real, changes[i].to,
                                                          real + at + strlen(changes[i].from))
                                                       .p),
                                        "");
        }
        assert_string_not_equal(bodies(c, "{'managedFields':[{'manager':'a'},{'manager':'b'}]}",
                                       "{'managedFields':[{'manager':'b'},{'manager':'a'}]}"),
                                "");
}

static void more_differences_than_are_kept_are_counted(void **state) {
        _cleanup_(buf_done) struct buf real = buf_make(8192), sandbox = buf_make(8192);
        struct comparing *c = *state;

        for (int i = 0; i <= MAX_DIFFERENCES; i++) {
                buf_addf(&real, "%c1", i ? ',' : '[');
                buf_addf(&sandbox, "%c2", i ? ',' : '[');
        }
        buf_addch(&real, ']');
        buf_addch(&sandbox, ']');
        bodies(c, real.p, sandbox.p);
        assert_int_equal(c->found.count, MAX_DIFFERENCES + 1);
}

/* --- refusals --- */

#define STATUS(message, causes) "{'message':'" message "','details':{'causes':[" causes "]}}"
#define ONE                     "{'field':'a','message':'bad','reason':'R'}"
#define TWO                     "{'field':'b','message':'bad','reason':'R'}"

static void causes_may_be_in_another_order(void **state) {
        struct comparing *c = *state;

        assert_same(c, STATUS("X is invalid: [a: bad, b: bad]", ONE "," TWO),
                    STATUS("X is invalid: [a: bad, b: bad]", ONE "," TWO));
        assert_reordered(c, STATUS("X is invalid: [a: bad, b: bad]", ONE "," TWO),
                         STATUS("X is invalid: [b: bad, a: bad]", TWO "," ONE));
        assert_reordered(c, STATUS("X is invalid: [b: bad, a: bad]", TWO "," ONE),
                         STATUS("X is invalid: [a: bad, b: bad]", ONE "," TWO));
        assert_reordered(c, STATUS("x: errors:\n  a\n  b", ONE "," TWO), STATUS("x: errors:\n  b\n  a", ONE "," TWO));
        assert_reordered(c, STATUS("X: [a: bad, b: bad, c: is\n- 1\n+ 2\n]", ONE "," TWO),
                         STATUS("X: [b: bad, a: bad, c: is\n- 1\n+ 2\n]", ONE "," TWO));
        assert_differs(c, STATUS("X: [a: bad, c: is\n- 1\n+ 2\n]", ONE "," TWO),
                       STATUS("X: [a: bad, c: is\n- 1\n+ 3\n]", ONE "," TWO),
                       "/message: X: [a: bad, c: is\n- 1\n+ 2\n], X: [a: bad, c: is\n- 1\n+ 3\n]");
}

#define OF_UID(uid) "{'field':'" uid "'}"

static void causes_in_another_order_may_tell_of_what_is_paired(void **state) {
        struct comparing *c = *state;

        assert_same(c, "{'uid':'" UID_A "'}", "{'uid':'" UID_C "'}");
        assert_same(c, "{'uid':'" UID_B "'}", "{'uid':'" UID_D "'}");
        assert_same(c, STATUS("m", OF_UID(UID_A) "," OF_UID(UID_B)), STATUS("m", OF_UID(UID_C) "," OF_UID(UID_D)));
        assert_reordered(c, STATUS("m", OF_UID(UID_A) "," OF_UID(UID_B)), STATUS("m", OF_UID(UID_D) "," OF_UID(UID_C)));
        assert_string_not_equal(
                bodies(c, STATUS("m", OF_UID(UID_A) "," OF_UID(UID_B)), STATUS("m", OF_UID(UID_D) "," OF_UID(UID_D))),
                "~");
}

static void each_cause_counts(void **state) {
        struct comparing *c = *state;

        assert_differs(c, STATUS("m", ONE "," ONE), STATUS("m", ONE "," TWO), "/details/causes/1/field: a, b");
        assert_differs(c, STATUS("m", ONE), STATUS("m", ONE "," ONE),
                       "/details/causes/1: (absent), "
                       "{\"field\":\"a\",\"message\":\"bad\",\"reason\":\"R\"}");
        assert_differs(c, STATUS("m", ONE), STATUS("m", "{'field':'a','message':'bad','reason':'S'}"),
                       "/details/causes/0/reason: R, S");
        assert_differs(c, STATUS("m", ONE), STATUS("m", "{'field':'a','message':'worse','reason':'R'}"),
                       "/details/causes/0/message: bad, worse");
        assert_differs(c, STATUS("m", ONE "," TWO), STATUS("m", TWO "," TWO), "/details/causes/0/field: a, b");
}

static void a_message_of_causes_may_only_have_another_order(void **state) {
        static const struct {
                const char *real, *sandbox;
        } others[] = {
                { "X: [a: 12, b: 21]", "X: [a: 21, b: 12]" }, /* the same letters */
                { "X: [a, b]", "Y: [b, a]" },
                { "X: [a, b]", "X: [b, b]" },
                { "X: [a, b]", "X: [b, a, a]" },
                { "X: [a, b]", "X: [b, a]." },
                { "ab", "ba" },
                { "a, b", "b, a" },
                { "a\nb", "b\nc" },
                { "[a, b]", "[b, a]" },
                { "a, b]", "b, a]" },
                { "X: [a, b", "X: [b, a" },
                { "X: [a, b, c", "X: [b, a, c" },
        };
        struct comparing *c = *state;

        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
                const char *real = arena_strf(c->a, "{'message':'%s','details':{'causes':[1,2]}}", others[i].real).p;
                const char *sandbox =
                        arena_strf(c->a, "{'message':'%s','details':{'causes':[1,2]}}", others[i].sandbox).p;

                assert_differs(c, real, sandbox,
                               arena_strf(c->a, "/message: %s, %s", others[i].real, others[i].sandbox).p);
        }
}

static void a_message_of_one_cause_has_an_order(void **state) {
        struct comparing *c = *state;

        assert_differs(c, STATUS("X: [a, b]", ONE), STATUS("X: [b, a]", ONE), "/message: X: [a, b], X: [b, a]");
        assert_differs(c, "{'message':'X: [a, b]'}", "{'message':'X: [b, a]'}", "/message: X: [a, b], X: [b, a]");
        assert_differs(c, "{'message':'X: [a, b]','details':{'causes':[1,2]}}",
                       "{'message':'X: [b, a]','details':{'causes':[1]}}",
                       "/details/causes/1: 2, (absent); /message: X: [a, b], X: [b, a]");
        /* Only the message. */
        assert_differs(c, "{'x':'X: [a, b]','details':{'causes':[1,2]}}",
                       "{'x':'X: [b, a]','details':{'causes':[1,2]}}", "/x: X: [a, b], X: [b, a]");
}

static void faults_of_one_map_have_no_order(void **state) {
        struct comparing *c = *state;

        assert_reordered(c, "{'message':'failed (x): errors:\n  .a: bad\n  .b: bad'}",
                         "{'message':'failed (x): errors:\n  .b: bad\n  .a: bad'}");
        assert_string_not_equal(bodies(c, "{'message':'failed (x): errors:\n  .a: bad\n  .b: bad'}",
                                       "{'message':'failed (x): errors:\n  .a: bad\n  .c: bad'}"),
                                "");
        assert_string_not_equal(bodies(c, "{'message':'failed (x):\n  .a: bad\n  .b: bad'}",
                                       "{'message':'failed (x):\n  .b: bad\n  .a: bad'}"),
                                "");
        assert_string_not_equal(bodies(c, "{'message':'failed (x): .a: bad\n  .b: bad'}",
                                       "{'message':'failed (x): .b: bad\n  .a: bad'}"),
                                "~");
}

#define NONE       ": field not declared in schema"
#define REFUSAL(x) "{'message':'cannot (v1): " x "'}"

static void of_a_map_with_undeclared_fields_some_may_be_told(void **state) {
        struct comparing *c = *state;

        assert_reordered(c, REFUSAL(".spec.x" NONE), REFUSAL(".spec.y" NONE));
        assert_reordered(c, REFUSAL(".spec.x" NONE), REFUSAL("errors:\n  .spec.x" NONE "\n  .spec.y.z: bad"));
        assert_reordered(c, "{'message':'cannot (a) (v1): .spec.x" NONE "'}",
                         "{'message':'cannot (a) (v1): .spec.y" NONE "'}");
        assert_string_not_equal(bodies(c, REFUSAL("errors:\n  .spec.x: bad\n  .meta.q" NONE),
                                       REFUSAL("errors:\n  .spec.y: bad\n  .meta.q" NONE)),
                                "~");
        assert_string_not_equal(
                bodies(c, REFUSAL("errors:\n  .spec.x: a text about something that is bad\n  .meta.q" NONE),
                       REFUSAL("errors:\n  .spec.y: a text about something that is bad\n  .meta.q" NONE)),
                "~");
        assert_string_not_equal(bodies(c, REFUSAL("x" NONE), REFUSAL("y" NONE)), "~");
        assert_string_not_equal(bodies(c, REFUSAL(".spec.x" NONE), REFUSAL(".meta.y" NONE)), "~");
        assert_string_not_equal(
                bodies(c, REFUSAL(".spec.x" NONE), REFUSAL("errors:\n  .spec.x" NONE "\n  .meta.y: bad")), "~");
        assert_string_not_equal(
                bodies(c, REFUSAL("errors:\n  .spec.x" NONE "\n  .meta.y: bad"), REFUSAL(".spec.x" NONE)), "~");
        assert_string_not_equal(bodies(c, REFUSAL(".spec.x: bad"), REFUSAL(".spec.y: bad")), "~");
        assert_string_not_equal(
                bodies(c, "{'message':'cannot (v1): .x" NONE "'}", "{'message':'can (v1): .y" NONE "'}"), "~");
        assert_string_not_equal(bodies(c, REFUSAL(".spec.x" NONE), REFUSAL(".spec.y: bad")), "");
}

static void finalizers_have_an_order_but_where_the_server_shuffles_them(void **state) {
        static const char one[] = "{'finalizers':['a','b']}", other[] = "{'finalizers':['b','a']}";
        struct comparing *c = *state;

        assert_differs(c, one, other, "/finalizers/0: a, b; /finalizers/1: b, a");
        pairs_set_shuffled(c->pairs, true);
        assert_reordered(c, one, other);
        assert_same(c, one, one);
        assert_differs(c, one, "{'finalizers':['b','b']}", "/finalizers/0: a, b");
        assert_differs(c, one, "{'finalizers':['b']}", "/finalizers/0: a, b; /finalizers/1: \"b\", (absent)");
        assert_differs(c, "{'other':['a','b']}", "{'other':['b','a']}", "/other/0: a, b; /other/1: b, a");
}

/* --- answers --- */

static const struct value *labelled;

static const char *answers(struct comparing *c, bool watch, struct twin_answer real, struct twin_answer sandbox) {
        struct twin_answer both[SIDE_COUNT] = { real, sandbox };

        for (enum side side = SIDE_REAL; side < SIDE_COUNT; side++)
                both[side].body = with_quotes(c, both[side].body.n ? both[side].body.p : "");
        c->found = (struct differences){ 0 };
        labelled = answers_compare(c->pairs, watch, both, c->a, &c->found);
        return told(c);
}

#define ANSWER(s, b) ((struct twin_answer){ .status = s, .body = STR(b) })

static void status_type_warnings_and_body_count(void **state) {
        struct comparing *c = *state;

        assert_string_equal(answers(c, false, ANSWER(200, "{'a':1}"), ANSWER(200, "{'a':1}")), "");
        assert_string_equal(answers(c, false, ANSWER(200, "{}"), ANSWER(201, "{}")), "status: 200, 201");
        assert_string_equal(answers(c, false, ANSWER(0, "{}"), ANSWER(422, "{}")), "status: 0, 422");
        assert_string_equal(answers(c, false, ANSWER(200, "{'a':1}"), ANSWER(200, "{'a':2}")), "/a: 1, 2");
        assert_string_equal(answers(c, false, ANSWER(200, "{}"), ANSWER(200, "")), "text: {}, ");
        assert_string_equal(answers(c, false, ANSWER(200, ""), ANSWER(200, "{}")), "text: , {}");
        assert_string_equal(answers(c, false, ANSWER(404, "no page"), ANSWER(404, "a page")), "text: no page, a page");
        assert_string_equal(answers(c, false, ANSWER(404, "no page"), ANSWER(404, "no page")), "");
        assert_string_equal(answers(c, false, (struct twin_answer){ .content_type = STR("text/plain") },
                                    (struct twin_answer){ .content_type = STR("application/json") }),
                            "type: text/plain, application/json");
        assert_string_equal(answers(c, false, (struct twin_answer){ .warnings = STR("one\n") },
                                    (struct twin_answer){ .warnings = STR("two\n") }),
                            "warnings: one\n, two\n");
        assert_string_equal(answers(c, false, (struct twin_answer){ .warnings = STR("one\ntwo\n") },
                                    (struct twin_answer){ .warnings = STR("two\none\n") }),
                            "warnings: one\ntwo\n, two\none\n");
        assert_string_equal(answers(c, true, (struct twin_answer){ .status = 200, .warnings = STR("one\n") },
                                    (struct twin_answer){ .status = 200 }),
                            "warnings: one\n, ");
}

static void a_body_is_given_with_labels(void **state) {
        struct comparing *c = *state;

        answers(c, false, ANSWER(200, "{'uid':'" UID_A "'}"), ANSWER(200, "{'uid':'" UID_B "'}"));
        assert_string_equal(value_canonical(c->a, labelled).p, "{\"uid\":\"@U1.0@\"}");
        answers(c, false, ANSWER(200, "no JSON"), ANSWER(200, "{}"));
        assert_null(labelled);
        answers(c, true, ANSWER(200, "{}\n"), ANSWER(200, "{}\n"));
        assert_null(labelled);
        /* A watch that was refused has a body like any other answer. */
        assert_string_equal(answers(c, true, ANSWER(410, "{'code':410}"), ANSWER(410, "{'code':411}")),
                            "/code: 410, 411");
        assert_non_null(labelled);
        assert_string_equal(answers(c, true, ANSWER(200, "{'code':410}"), ANSWER(410, "{'code':411}")),
                            "status: 200, 410; /code: 410, 411");
}

#define EVENT(type, name, x) "{'type':'" type "','object':{'metadata':{'name':'" name "'},'x':" x "}}\n"

static void events_of_a_watch_count_in_their_order(void **state) {
        static const struct {
                const char *sandbox, *wanted;
        } others[] = {
                { EVENT("ADDED", "a", "1") EVENT("MODIFIED", "b", "2"), "" },
                { EVENT("ADDED", "a", "1") EVENT("MODIFIED", "b", "3"), "/events/1/object/x: 2, 3" },
                { EVENT("ADDED", "a", "1"), "/events: ADDED a, MODIFIED b, ADDED a" },
                { EVENT("ADDED", "a", "1") EVENT("DELETED", "b", "2"),
                  "/events: ADDED a, MODIFIED b, ADDED a, DELETED b" },
                { EVENT("MODIFIED", "b", "2") EVENT("ADDED", "a", "1"),
                  "/events: ADDED a, MODIFIED b, MODIFIED b, ADDED a" },
                { EVENT("ADDED", "a", "1") EVENT("MODIFIED", "c", "2"),
                  "/events: ADDED a, MODIFIED b, ADDED a, MODIFIED c" },
                { EVENT("ADDED", "a", "1") EVENT("MODIFIED", "b", "2") EVENT("BOOKMARK", "", "3"),
                  "/events: ADDED a, MODIFIED b, ADDED a, MODIFIED b, BOOKMARK " },
                { EVENT("ADDED", "a", "1") EVENT("MODIFIED", "b", "2") "no JSON\n",
                  "/events: ADDED a, MODIFIED b, ADDED a, MODIFIED b,  " },
                { "", "/events: ADDED a, MODIFIED b, " },
        };
        struct comparing *c = *state;

        for (size_t i = 0; i < ARRAY_LEN(others); i++)
                assert_string_equal(answers(c, true, ANSWER(200, EVENT("ADDED", "a", "1") EVENT("MODIFIED", "b", "2")),
                                            (struct twin_answer){ .status = 200, .body = str_from(others[i].sandbox) }),
                                    others[i].wanted);
        assert_string_equal(answers(c, true, ANSWER(200, "one\n"), ANSWER(200, "two\n")), "/events/0: one, two");
}

static void names_of_events_may_be_generated(void **state) {
        struct comparing *c = *state;

        assert_same(c, MADE("made-abcde"), MADE("made-fghij"));
        assert_string_equal(answers(c, true, ANSWER(200, EVENT("ADDED", "made-abcde", "1")),
                                    ANSWER(200, EVENT("ADDED", "made-fghij", "1"))),
                            "");
        assert_string_equal(answers(c, true, ANSWER(200, EVENT("ADDED", "made-abcde", "1")),
                                    ANSWER(200, EVENT("ADDED", "made-other", "1"))),
                            "/events: ADDED @N1.0@, ADDED @name@");
}

static void shuffled_finalizers_may_be_quoted(void **state) {
        static const char real[] =
                "{'message':'bad: {\\\\\\'finalizers\\\\\\':[\\\\\\'a\\\\\\',\\\\\\'b\\\\\\']}, [2,1]'}";
        static const char sandbox[] =
                "{'message':'bad: {\\\\\\'finalizers\\\\\\':[\\\\\\'b\\\\\\',\\\\\\'a\\\\\\']}, [2,1]'}";
        struct comparing *c = *state;

        assert_string_not_equal(bodies(c, real, sandbox), "");
        pairs_set_shuffled(c->pairs, true);
        assert_same(c, real, sandbox);
        assert_string_not_equal(bodies(c, "{'x':'finalizers:[a,b]'}", "{'x':'finalizers:[a,c]'}"), "");
        assert_string_not_equal(bodies(c, "{'x':'items:[a,b]'}", "{'x':'items:[b,a]'}"), "");
        assert_string_not_equal(bodies(c, "{'x':'finalizers:[a,b'}", "{'x':'finalizers:[b,a'}"), "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_uid_stands_for_the_one_it_was_first_seen_with),
                CASE(what_is_no_uid_must_be_equal),
                CASE(a_given_uid_must_be_kept),
                CASE(a_version_stands_for_the_one_it_was_first_seen_with),
                CASE(versions_are_in_the_same_order),
                CASE(what_is_no_version_must_be_equal),
                CASE(a_lists_version_is_of_the_moment_but_not_of_the_past),
                CASE(moments_may_be_a_second_apart),
                CASE(each_part_of_a_time_counts),
                CASE(fractions_of_a_second_are_the_clients),
                CASE(ages_in_a_table_may_be_a_second_apart),
                CASE(a_generated_name_stands_for_the_one_it_was_first_seen_with),
                CASE(a_name_that_nobody_generated_must_be_equal),
                CASE(an_allotted_address_stands_for_the_one_it_was_first_seen_with),
                CASE(an_allotted_port_stands_for_the_one_it_was_first_seen_with),
                CASE(a_continue_token_stands_for_the_one_it_was_first_seen_with),
                CASE(a_value_of_any_kind_that_differs_is_found),
                CASE(items_of_lists_have_an_order),
                CASE(managed_fields_are_compared_whole),
                CASE(more_differences_than_are_kept_are_counted),
                CASE(causes_may_be_in_another_order),
                CASE(causes_in_another_order_may_tell_of_what_is_paired),
                CASE(each_cause_counts),
                CASE(a_message_of_causes_may_only_have_another_order),
                CASE(shuffled_finalizers_may_be_quoted),
                CASE(a_message_of_one_cause_has_an_order),
                CASE(faults_of_one_map_have_no_order),
                CASE(of_a_map_with_undeclared_fields_some_may_be_told),
                CASE(finalizers_have_an_order_but_where_the_server_shuffles_them),
                CASE(status_type_warnings_and_body_count),
                CASE(a_body_is_given_with_labels),
                CASE(events_of_a_watch_count_in_their_order),
                CASE(names_of_events_may_be_generated),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
