/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/ignore.h"

#include "../own/own_test.h"

#include "arena_test.h"

#define POD_SPEC(containers) "'spec':{'template':{'spec':{'containers':[" containers "]}}}"
#define DEPLOYMENT(rest) "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'web','namespace':'shop'}," rest "}"

/* One rule of pointers, NULL-ended. */
static struct ignore_rule by_pointers(const char *const *texts, bool at_sync) {
        struct pointer *p = arena_alloc(a, 16 * sizeof *p);
        size_t n = 0;

        for (; texts[n]; n++)
                assert_int_equal(ignore_pointer_read(str_from(texts[n]), a, &p[n], NULL), 0);
        return (struct ignore_rule){
                .name = at_sync ? "respected" : "compared", .place = "cm.yaml:3", .at_sync = at_sync, .pointers = p,
                .pointer_count = n,
        };
}
#define BY_POINTERS(...) by_pointers((const char *const[]){ __VA_ARGS__, NULL }, false)

/* What the caller keeps; of a few tests. */
static const struct field_path *kept_paths;
static size_t kept_count;

static struct ignore_result found(const char *desired, const char *live, const struct ignore_rule *rules, size_t count,
                                  const struct ignore_finding *findings) {
        const struct value *git = json(a, desired);
        struct ignore_input in = {
                .desired = git,
                .live = live ? json(a, live) : NULL,
                .type = schema_builtin(a, value_text(value_getc(git, "apiVersion")), value_text(value_getc(git, "kind"))),
                .rules = rules,
                .rule_count = count,
                .findings = findings,
                .kept = kept_paths,
                .kept_count = kept_count,
        };

        return ignore_paths(&in, a);
}

/* The paths, one a line, with a letter for each object they were found in. */
static const char *told(const struct ignore_result *r) {
        _cleanup_(buf_done) struct buf b = buf_make(MIB);

        for (size_t i = 0; i < r->count; i++) {
                field_path_print(r->paths[i].path, &b);
                buf_addf(&b, " %s%s%s\n", r->paths[i].in_git ? "g" : "", r->paths[i].in_live ? "l" : "",
                         r->paths[i].at_sync ? " sync" : "");
        }
        return arena_str(a, buf_str(&b)).p;
}

static void a_pointer_names_the_item_that_stands_there_by_its_key(void **state) {
        struct ignore_rule r = BY_POINTERS("/spec/template/spec/containers/1/image");
        struct ignore_result f = found(DEPLOYMENT(POD_SPEC("{'name':'web','image':'w'},{'name':'proxy','image':'p'}")),
                                       DEPLOYMENT(POD_SPEC("{'name':'proxy','image':'p'},{'name':'web','image':'w'}")), &r,
                                       1, NULL);

        (void)state;
        assert_string_equal(told(&f), ".spec.template.spec.containers[name=\"proxy\"].image g\n"
                                      ".spec.template.spec.containers[name=\"web\"].image l\n");
        assert_int_equal(f.found[0], 2);
}

static void a_pointer_that_names_nothing_is_silent_and_counts_as_unfound(void **state) {
        struct ignore_rule r[] = {
                BY_POINTERS("/spec/paused"),
                BY_POINTERS("/spec/replicas"),
                BY_POINTERS("/spec/replicas/deeper"),
                BY_POINTERS("/spec/template/spec/containers/01/name", "/spec/template/spec/containers/7", "/spec/template/spec/containers/-1"),
        };
        struct ignore_result f = found(DEPLOYMENT("'spec':{'replicas':2}"),
                                       DEPLOYMENT(POD_SPEC("{'name':'web'},{'name':'b'}")), r, ARRAY_LEN(r), NULL);

        (void)state;
        assert_string_equal(told(&f), ".spec.replicas g\n");
        assert_int_equal(f.found[0], 0);
        assert_int_equal(f.found[1], 1);
        assert_int_equal(f.found[2], 0);
        assert_int_equal(f.found[3], 0);
}

static void names_with_slashes_and_tildes_are_escaped(void **state) {
        struct ignore_rule r = BY_POINTERS("/metadata/annotations/example.com~1a~0b");
        struct ignore_result f = found("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'x','annotations':{'example.com/a~b':'1'}}}",
                                       NULL, &r, 1, NULL);

        (void)state;
        assert_string_equal(told(&f), ".metadata.annotations.example.com/a~b g\n");
}

static void what_makes_an_object_that_object_is_never_ignored(void **state) {
        static const char *const bad[] = { "", "/apiVersion", "/kind", "/metadata", "/metadata/name", "/metadata/namespace" };
        struct pointer p;
        const struct value *all = json(a, "[[],['kind'],['metadata'],['metadata','name'],['spec']]");
        struct ignore_rule r = { .name = "program", .program_count = 1 };
        struct ignore_finding finding = { all, all };
        struct ignore_result f;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_int_equal(ignore_pointer_read(str_from(bad[i]), a, &p, NULL), ERR_INVAL);
        f = found(DEPLOYMENT("'spec':{}"), DEPLOYMENT("'spec':{}"), &r, 1, &finding);
        assert_string_equal(told(&f), ".spec gl\n");
        assert_int_equal(f.found[0], 2);
}

static void of_a_map_that_holds_what_is_kept_the_other_members_are_ignored(void **state) {
        struct field_path kept = dotted(a, ".metadata.labels.mark");
        struct ignore_rule r[] = { BY_POINTERS("/metadata/labels"), BY_POINTERS("/metadata/labels/mark"),
                                   BY_POINTERS("/spec/a"), BY_POINTERS("/spec/b") };
        struct ignore_result f;

        (void)state;
        kept_paths = &kept;
        kept_count = 1;
        f = found("{'apiVersion':'v1','kind':'X','metadata':{'name':'x','labels':{'mark':'1','a':'1','b':'1'}},'spec':{'a':1,'b':1}}",
                  "{'apiVersion':'v1','kind':'X','metadata':{'name':'x','labels':{'b':'2','c':'2','mark':'2'}},'spec':{'a':1,'b':1}}", r,
                  ARRAY_LEN(r), NULL);
        kept_count = 0;
        assert_string_equal(told(&f), ".metadata.labels.a g\n.metadata.labels.b gl\n.metadata.labels.c l\n.spec.a gl\n.spec.b gl\n");
        assert_int_equal(f.found[0], 4);
        assert_int_equal(f.found[1], 0);
        assert_int_equal(f.left_out, 0);
}

static void where_git_has_not_what_is_kept_the_map_is_ignored_whole(void **state) {
        struct field_path kept = dotted(a, ".metadata.labels.mark");
        struct ignore_rule r = BY_POINTERS("/metadata/labels");
        struct ignore_result f;

        (void)state;
        kept_paths = &kept;
        kept_count = 1;
        f = found("{'apiVersion':'v1','kind':'X','metadata':{'name':'x','labels':{'a':'1'}}}",
                  "{'apiVersion':'v1','kind':'X','metadata':{'name':'x','labels':{'mark':'2'}}}", &r, 1, NULL);
        kept_count = 0;
        assert_string_equal(told(&f), ".metadata.labels gl\n");
}

static void a_path_that_is_found_again_stays_where_it_was_found_before(void **state) {
        const struct value *paths = json(a, "[['spec','x']]");
        struct ignore_rule r[] = { { .name = "one", .program_count = 1 }, { .name = "two", .program_count = 1 } };
        struct ignore_finding in_live_then_git[] = { { NULL, paths }, { paths, NULL } };
        struct ignore_finding in_git_then_live[] = { { paths, NULL }, { NULL, paths } };
        struct ignore_result f = found(DEPLOYMENT("'spec':{'x':1}"), DEPLOYMENT("'spec':{'x':2}"), r, 2, in_live_then_git);

        (void)state;
        assert_string_equal(told(&f), ".spec.x gl\n");
        f = found(DEPLOYMENT("'spec':{'x':1}"), DEPLOYMENT("'spec':{'x':2}"), r, 2, in_git_then_live);
        assert_string_equal(told(&f), ".spec.x gl\n");
}

static void a_bad_pointer_is_told_with_what_may_be_meant(void **state) {
        struct pointer p;
        struct err err;

        (void)state;
        assert_int_equal(ignore_pointer_read(STR("spec/replicas"), a, &p, &err), ERR_INVAL);
        assert_non_null(strstr(err.msg, "does not begin with /"));
        assert_int_equal(ignore_pointer_read(STR(".spec.replicas"), a, &p, &err), ERR_INVAL);
        assert_non_null(strstr(err.msg, "jqPathExpression"));
        assert_int_equal(ignore_pointer_read(STR("/spec/a~2b"), a, &p, &err), ERR_INVAL);
        assert_non_null(strstr(err.msg, "~0 nor ~1"));
}

static void a_program_s_finding_becomes_paths_of_either_object(void **state) {
        struct ignore_rule r[] = { { .name = "one", .program_count = 2 }, { .name = "two", .program_count = 1 } };
        struct ignore_finding findings[] = {
                { json(a, "[['spec','template','spec','containers',0]]"), NULL },
                { NULL, json(a, "[['spec','template','spec','containers',-1,'image'],['spec','nothing']]") },
                { json(a, "[['spec','replicas'],['spec','replicas']]"), json(a, "[['spec','replicas'],[0],['spec',3],[null]]") },
        };
        struct ignore_result f = found(DEPLOYMENT("'spec':{'replicas':1,'template':{'spec':{'containers':[{'name':'web'}]}}}"),
                                       DEPLOYMENT("'spec':{'replicas':2,'template':{'spec':{'containers':[{'name':'web'},{'name':'p','image':'i'}]}}}"),
                                       r, ARRAY_LEN(r), findings);

        (void)state;
        assert_string_equal(told(&f), ".spec.template.spec.containers[name=\"web\"] g\n"
                                      ".spec.template.spec.containers[name=\"p\"].image l\n"
                                      ".spec.replicas gl\n");
        assert_int_equal(f.found[0], 2);
        assert_int_equal(f.found[1], 3);
        assert_string_equal(f.paths[1].rule, "one");
        assert_string_equal(f.paths[2].rule, "two");
}

static void a_rule_that_counts_at_sync_wins_over_one_that_does_not(void **state) {
        struct ignore_rule r[] = {
                BY_POINTERS("/spec/replicas", "/spec/paused"),
                by_pointers((const char *const[]){ "/spec/replicas", NULL }, true),
                BY_POINTERS("/spec/replicas"),
        };
        struct ignore_result f = found(DEPLOYMENT("'spec':{'replicas':1,'paused':true}"), NULL, r, ARRAY_LEN(r), NULL);

        (void)state;
        assert_string_equal(told(&f), ".spec.replicas g sync\n.spec.paused g\n");
        assert_string_equal(f.paths[0].rule, "respected");
        assert_string_equal(f.paths[1].rule, "compared");
}

static void items_without_keys_are_their_place(void **state) {
        struct ignore_rule r = BY_POINTERS("/spec/template/spec/containers/0/args/1");
        const char *object = DEPLOYMENT(POD_SPEC("{'name':'web','args':['a','b']}"));
        struct ignore_result f = found(object, object, &r, 1, NULL);

        (void)state;
        assert_string_equal(told(&f), ".spec.template.spec.containers[name=\"web\"].args[1] gl\n");
}

static void string_data_of_a_secret_is_its_data(void **state) {
        struct ignore_rule r = BY_POINTERS("/stringData/password");
        struct ignore_result f =
                found("{'apiVersion':'v1','kind':'Secret','metadata':{'name':'s'},'data':{'password':'eA=='}}", NULL, &r, 1, NULL);

        (void)state;
        assert_string_equal(told(&f), ".data.password g\n");
        f = found("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'s'},'data':{'password':'x'}}", NULL, &r, 1, NULL);
        assert_int_equal(f.count, 0);
}

static void status_is_found_and_needs_no_path(void **state) {
        struct ignore_rule r = BY_POINTERS("/status", "/status/replicas");
        struct ignore_result f = found(DEPLOYMENT("'spec':{}"), DEPLOYMENT("'status':{'replicas':1}"), &r, 1, NULL);

        (void)state;
        assert_int_equal(f.count, 0);
        assert_int_equal(f.found[0], 2);
}

static void more_paths_than_fit_are_counted(void **state) {
        _cleanup_(buf_done) struct buf object = buf_make(MIB), paths = buf_make(MIB);
        struct ignore_rule r = { .name = "all", .program_count = 1 };
        struct ignore_finding finding = { 0 };

        (void)state;
        buf_addc(&object, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'x'},'data':{");
        buf_addc(&paths, "[");
        for (int i = 0; i < IGNORE_MAX_PATHS + 7; i++) {
                buf_addf(&object, "%s'k%d':'v'", i ? "," : "", i);
                buf_addf(&paths, "%s['data','k%d']", i ? "," : "", i);
        }
        buf_addc(&object, "}}");
        buf_addc(&paths, "]");
        finding.in_git = json(a, paths.p);
        struct ignore_result f = found(object.p, NULL, &r, 1, &finding);
        assert_int_equal(f.count, IGNORE_MAX_PATHS);
        assert_int_equal(f.left_out, 7);
        assert_int_equal(f.found[0], IGNORE_MAX_PATHS + 7);
}

/* --- paths as people write them --------------------------------------------------------------------------------------- */

static struct ignore_rule by_paths(const char *text) {
        struct ignore_rule r = { .name = "ours", .place = "agent.yaml:3" };
        struct err err;

        if (ignore_paths_read(str_from(text), a, &r.patterns, &r.pattern_count, &err) < 0)
                fail_msg("%s", err.msg);
        return r;
}

static void a_path_names_an_item_by_its_key_in_either_object(void **state) {
        struct ignore_rule r = by_paths(".spec.template.spec.containers[name=\"proxy\"].image");
        struct ignore_result f = found(DEPLOYMENT(POD_SPEC("{'name':'web','image':'w'},{'name':'proxy','image':'p'}")),
                                       DEPLOYMENT(POD_SPEC("{'name':'proxy','image':'q'},{'name':'web','image':'w'}")), &r,
                                       1, NULL);

        (void)state;
        assert_string_equal(told(&f), ".spec.template.spec.containers[name=\"proxy\"].image gl\n");
        assert_int_equal(f.found[0], 2);
        assert_null(f.advice[0]);
}

static void a_path_may_say_some_keys_and_name_many_items(void **state) {
        struct ignore_rule r = by_paths(".spec.ports[port=53]");
        const char *service = "{'apiVersion':'v1','kind':'Service','metadata':{'name':'s'},'spec':{'ports':["
                              "{'port':53,'protocol':'UDP'},{'port':53,'protocol':'TCP'},{'port':80}]}}";
        struct ignore_result f = found(service, NULL, &r, 1, NULL);

        (void)state;
        assert_string_equal(told(&f), ".spec.ports[port=53,protocol=\"UDP\"] g\n.spec.ports[port=53,protocol=\"TCP\"] g\n");
}

static void a_path_at_string_data_is_its_data(void **state) {
        struct ignore_rule r = by_paths(".stringData.password");
        struct ignore_result f =
                found("{'apiVersion':'v1','kind':'Secret','metadata':{'name':'s'},'data':{'password':'eA=='}}", NULL, &r, 1, NULL);

        (void)state;
        assert_string_equal(told(&f), ".data.password g\n");
}

static void paths_stand_in_lines_or_with_commas(void **state) {
        static const struct {
                const char *text;
                size_t count;
        } lists[] = {
                { "", 0 }, { " , \n,", 0 }, { ".a", 1 }, { ".a,.b", 2 }, { ".a\n .b ,\n.c\n", 3 },
                { ".p[port=53,protocol=\"UDP\"],.q", 2 }, { ".p[\"a,b]\\\",\"],.q", 2 }, { ".p[\"a\\\\\"],.q", 2 },
        };
        const struct field_path *paths;
        size_t count;
        struct err err;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
                if (ignore_paths_read(str_from(lists[i].text), a, &paths, &count, &err) < 0)
                        fail_msg("%s: %s", lists[i].text, err.msg);
                assert_int_equal(count, lists[i].count);
        }
}

static void a_list_with_a_bad_path_is_refused_whole(void **state) {
        static const struct {
                const char *text, *says;
        } bad[] = {
                { ".a,.b[", "in brackets stands" },
                { ".a,.b[0]", "not by their places" },
                { "/spec/~x", "neither ~0 nor ~1" },
                { ".a,.metadata.name", "cannot be ignored" },
                { ".a[*]", "wildcards are not understood" },
                { ".a[\"x", "the value of a key is JSON" },
        };
        _cleanup_(buf_done) struct buf many = buf_make(MIB);
        const struct field_path *paths = NULL;
        size_t count = 7;
        struct err err;

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                assert_int_equal(ignore_paths_read(str_from(bad[i].text), a, &paths, &count, &err), ERR_INVAL);
                if (!strstr(err.msg, bad[i].says))
                        fail_msg("%s: %s", bad[i].text, err.msg);
        }
        for (int i = 0; i <= IGNORE_MAX_LISTED; i++)
                buf_addf(&many, ".a%d,", i);
        assert_int_equal(ignore_paths_read(buf_str(&many), a, &paths, &count, &err), ERR_LIMIT);
        assert_null(paths);
        assert_int_equal(count, 7);
}

/* --- what is told ------------------------------------------------------------------------------------------------------ */

static void a_rule_that_freezes_a_list_is_told_with_a_narrower_one(void **state) {
        struct ignore_rule r[] = { BY_POINTERS("/spec/template/spec/containers"), by_paths(".spec.template.spec.containers"),
                                   BY_POINTERS("/spec/template/spec/containers/0") };
        struct ignore_result f = found(DEPLOYMENT(POD_SPEC("{'name':'web'}")),
                                       DEPLOYMENT(POD_SPEC("{'name':'web'},{'name':'in-jected'}")), r, ARRAY_LEN(r), NULL);

        (void)state;
        assert_string_equal(f.advice[0], "this ignore rule freezes the whole list .spec.template.spec.containers; one item of it is "
                                         "jqPathExpressions: ['.spec.template.spec.containers[] | select(.name == \"in-jected\")']");
        assert_string_equal(f.advice[1], "this ignore rule freezes the whole list .spec.template.spec.containers; one item of it is "
                                         "paths: ['.spec.template.spec.containers[name=\"in-jected\"]']");
        assert_null(f.advice[2]);
}

static void a_list_that_git_does_not_have_or_that_is_as_git_says_is_no_news(void **state) {
        struct ignore_rule r = BY_POINTERS("/spec/template/spec/containers");
        const char *one = DEPLOYMENT(POD_SPEC("{'name':'web'}"));
        struct ignore_result f = found(DEPLOYMENT("'spec':{}"), one, &r, 1, NULL);

        (void)state;
        assert_null(f.advice[0]);
        f = found(one, one, &r, 1, NULL);
        assert_null(f.advice[0]);
        f = found(one, DEPLOYMENT(POD_SPEC("{'name':'web','imagePullPolicy':'Always'}")), &r, 1, NULL);
        assert_null(f.advice[0]);
        f = found(DEPLOYMENT(POD_SPEC("{'name':'web','args':['a']}")), DEPLOYMENT(POD_SPEC("{'name':'web','args':['a','b']}")), &r,
                  1, NULL);
        assert_non_null(f.advice[0]);
}

/* --- lists of one piece ---------------------------------------------------------------------------------------------- */

#define TOLERATIONS(items) DEPLOYMENT("'spec':{'template':{'spec':{'tolerations':[" items "]}}}")

static void a_list_of_one_piece_may_differ_where_only_the_item_does(void **state) {
        struct ignore_rule r = by_paths(".spec.template.spec.tolerations[key=\"in\"]");
        struct ignore_result f = found(TOLERATIONS("{'key':'a'}"), TOLERATIONS("{'key':'a'},{'key':'in'}"), &r, 1, NULL);

        (void)state;
        assert_string_equal(told(&f), ".spec.template.spec.tolerations[key=\"in\"] l\n.spec.template.spec.tolerations gl\n");
        assert_int_equal(f.found[0], 1);
        f = found(TOLERATIONS("{'key':'b'}"), TOLERATIONS("{'key':'a'},{'key':'in'}"), &r, 1, NULL);
        assert_string_equal(told(&f), ".spec.template.spec.tolerations[key=\"in\"] l\n");
        f = found(DEPLOYMENT("'spec':{}"), TOLERATIONS("{'key':'in'}"), &r, 1, NULL);
        assert_string_equal(told(&f), ".spec.template.spec.tolerations[key=\"in\"] l\n.spec.template.spec.tolerations gl\n");
}

/* What stands there is something, and other than nothing. */
static void a_value_is_not_as_alike_as_a_list_without_items(void **state) {
        struct ignore_rule r = by_paths(".spec.template.spec.tolerations[key=\"in\"]");
        struct ignore_result f = found(DEPLOYMENT("'spec':{'template':{'spec':{'tolerations':'none'}}}"), TOLERATIONS("{'key':'in'}"), &r,
                                       1, NULL);

        (void)state;
        assert_string_equal(told(&f), ".spec.template.spec.tolerations[key=\"in\"] l\n");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(a_pointer_names_the_item_that_stands_there_by_its_key),
                CASE(a_pointer_that_names_nothing_is_silent_and_counts_as_unfound),
                CASE(names_with_slashes_and_tildes_are_escaped),
                CASE(what_makes_an_object_that_object_is_never_ignored),
                CASE(of_a_map_that_holds_what_is_kept_the_other_members_are_ignored),
                CASE(where_git_has_not_what_is_kept_the_map_is_ignored_whole),
                CASE(a_path_that_is_found_again_stays_where_it_was_found_before),
                CASE(a_bad_pointer_is_told_with_what_may_be_meant),
                CASE(a_program_s_finding_becomes_paths_of_either_object),
                CASE(a_rule_that_counts_at_sync_wins_over_one_that_does_not),
                CASE(items_without_keys_are_their_place),
                CASE(string_data_of_a_secret_is_its_data),
                CASE(status_is_found_and_needs_no_path),
                CASE(more_paths_than_fit_are_counted),
                CASE(a_path_names_an_item_by_its_key_in_either_object),
                CASE(a_path_may_say_some_keys_and_name_many_items),
                CASE(a_path_at_string_data_is_its_data),
                CASE(paths_stand_in_lines_or_with_commas),
                CASE(a_list_with_a_bad_path_is_refused_whole),
                CASE(a_rule_that_freezes_a_list_is_told_with_a_narrower_one),
                CASE(a_list_that_git_does_not_have_or_that_is_as_git_says_is_no_news),
                CASE(a_list_of_one_piece_may_differ_where_only_the_item_does),
                CASE(a_value_is_not_as_alike_as_a_list_without_items),
        };

        return cmocka_run_group_tests_name("ignore", tests, NULL, NULL);
}
