/* SPDX-License-Identifier: Apache-2.0 */
/* Fields to template, template to payload; leader, worker and claims are then parts of that payload. */
#include "group/revision.h"

#include "group/fields_impl.h"
#include "group/names.h"
#include "group/payload_impl.h"

/* The last one is the old name of the one before: upstream's webhook turns it into that. */
static const char *const restarts[] = { "RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None", "Default" };
static const char *const subgroup_types[] = { "LeaderWorker", "LeaderExcluded" };
static const char *const subdomains[] = { "Shared", "UniquePerReplica" };
static const char *const retentions[] = { "Retain", "Delete" };

/* --- fields to template --- */

static void read_subgroups(const struct fields *in, struct group_template *t) {
        static const char *const known[] = { "subGroupPolicyType", "subGroupSize", NULL };
        static const struct fields_range range = { 1, INT32_MAX, "subGroupSize must be equal or greater than 1",
                                                   "subGroupSize cannot be larger than size" };
        struct fields f = fields_of(in, "subGroupPolicy");

        if (!f.map)
                return;
        t->subgroups = GROUP_SUBGROUPS_LEADER_WORKER +
                       fields_word(&f, "subGroupPolicyType", subgroup_types, ARRAY_LEN(subgroup_types), 0);
        if (!fields_get(&f, "subGroupSize"))
                fields_missing(&f, "subGroupSize");
        t->subgroup_size = fields_number(&f, "subGroupSize", 0, &range);
        if (!t->subgroup_size)
                t->subgroups = GROUP_SUBGROUPS_NONE;
        fields_check_known(&f, known);
}

static void read_network(const struct fields *spec, struct group_template *t) {
        static const char *const known[] = { "subdomainPolicy", NULL };
        struct fields f = fields_of(spec, "networkConfig");

        if (f.map && !fields_get(&f, "subdomainPolicy"))
                fields_missing(&f, "subdomainPolicy");
        t->subdomain = fields_word(&f, "subdomainPolicy", subdomains, ARRAY_LEN(subdomains), GROUP_SUBDOMAIN_SHARED);
        fields_check_known(&f, known);
}

static void read_retention(const struct fields *in, struct group_template *t) {
        static const char *const known[] = { "whenDeleted", "whenScaled", NULL };
        struct fields f = fields_of(in, "persistentVolumeClaimRetentionPolicy");

        t->delete_claims_when_deleted = fields_word(&f, "whenDeleted", retentions, ARRAY_LEN(retentions), 0);
        t->delete_claims_when_scaled = fields_word(&f, "whenScaled", retentions, ARRAY_LEN(retentions), 0);
        fields_check_known(&f, known);
}

static bool has_containers(const struct value *pod_template) {
        const struct value *containers = value_path(pod_template, "spec", "containers", NULL);

        return value_is(containers, VALUE_LIST) && containers->list.count;
}

/* A template without a container is no pod's; all else of it is for the API server to judge. */
static const struct value *read_pod(const struct fields *template) {
        struct fields spec;

        if (!template->map)
                return NULL;
        spec = fields_required(template, "spec");
        if (spec.map && !has_containers(template->map))
                fields_missing(&spec, "containers");
        return payload_clean(template->map, template->a);
}

/* --- claims --- */

static bool is_named_before(const struct value *claims, size_t before, struct str name) {
        for (size_t i = 0; i < before; i++)
                if (str_eq(value_text(value_path(claims->list.items[i], "metadata", "name", NULL)), name))
                        return true;
        return false;
}

/* A claim is mounted by its name, and its name is part of that of the object. */
static void check_claim(const struct fields *claim, const struct value *claims, size_t i) {
        struct fields meta = fields_required(claim, "metadata");
        struct str name = fields_required_text(&meta, "name");

        if (name.n && is_named_before(claims, i, name))
                fields_invalid(&meta, "name", "another claim has this name");
        fields_required(claim, "spec");
}

static void check_claims(const struct fields *in, const struct value *claims) {
        for (size_t i = 0; i < claims->list.count; i++) {
                struct fields claim = { .map = claims->list.items[i], .a = in->a, .problems = in->problems };

                claim.path = arena_strf(in->a, "%.*s.volumeClaimTemplates[%zu]", STR_FMT(in->path), i);
                if (value_is(claim.map, VALUE_MAP))
                        check_claim(&claim, claims, i);
                else
                        group_problems_add(in->problems, in->a, GROUP_INVALID, claim.path,
                                           "Invalid value: %.*s: no claim", STR_FMT(fields_shown(claim.map, in->a)));
        }
}

static const struct value *read_claims(const struct fields *in) {
        const struct value *claims = fields_get_kind(in, "volumeClaimTemplates", VALUE_LIST);

        if (!value_count(claims))
                return NULL;
        if (claims->list.count > GROUP_MAX_CLAIMS) {
                group_problems_add(in->problems, in->a, GROUP_INVALID, fields_path(in, STR("volumeClaimTemplates")),
                                   "Too many: %zu: must have at most %d items", claims->list.count, GROUP_MAX_CLAIMS);
                return NULL;
        }
        check_claims(in, claims);
        return payload_clean(claims, in->a);
}

/* --- template to payload --- */

static void add(struct value_map_builder *b, const char *key, const struct value *v) {
        if (v)
                value_map_add(b, str_from(key), v, 0);
}

static const struct value *pair(struct arena *a, const char *key, const struct value *v, const char *other_key,
                                const struct value *other) {
        struct value_map_builder b = { 0 };

        add(&b, key, v);
        if (other_key)
                add(&b, other_key, other);
        return value_map_end(&b, a, 0);
}

static const struct value *subgroup_policy(const struct group_template *t, struct arena *a) {
        if (t->subgroups == GROUP_SUBGROUPS_NONE)
                return NULL;
        return pair(a, "subGroupPolicyType",
                    value_stringc(a, subgroup_types[t->subgroups - GROUP_SUBGROUPS_LEADER_WORKER]), "subGroupSize",
                    value_int(a, t->subgroup_size, 0));
}

static const struct value *retention_policy(const struct group_template *t, struct arena *a) {
        if (!t->delete_claims_when_deleted && !t->delete_claims_when_scaled)
                return NULL;
        return pair(a, "whenDeleted", value_stringc(a, retentions[t->delete_claims_when_deleted]), "whenScaled",
                    value_stringc(a, retentions[t->delete_claims_when_scaled]));
}

/* `own_leader`: the template has one that is not the worker's. */
static const struct value *payload_of(const struct group_template *t, bool own_leader, struct arena *a) {
        struct value_map_builder b = { 0 };

        add(&b, "leaderTemplate", own_leader ? t->leader : NULL);
        add(&b, "persistentVolumeClaimRetentionPolicy", retention_policy(t, a));
        add(&b, "restartPolicy", value_stringc(a, restarts[t->restart]));
        add(&b, "size", value_int(a, t->size, 0));
        add(&b, "subGroupPolicy", subgroup_policy(t, a));
        add(&b, "volumeClaimTemplates", t->claims);
        add(&b, "workerTemplate", t->worker);
        return pair(a, "spec",
                    pair(a, "leaderWorkerTemplate", value_map_end(&b, a, 0), "networkConfig",
                         pair(a, "subdomainPolicy", value_stringc(a, subdomains[t->subdomain]), NULL, NULL)),
                    NULL, NULL);
}

int group_template_read(const struct value *spec, struct arena *a, struct group_template *ret_template,
                        struct group_problems *problems) {
        static const char *const known[] = { "leaderTemplate", "persistentVolumeClaimRetentionPolicy",
                                             "restartPolicy",  "size",
                                             "subGroupPolicy", "volumeClaimTemplates",
                                             "workerTemplate", NULL };
        static const struct fields_range sizes = { 1, INT32_MAX, "size must be equal or greater than 1",
                                                   "size must be equal or less than 2147483647" };
        size_t before = problems->count;
        struct fields top = {
                .map = value_is(spec, VALUE_MAP) ? spec : NULL, .path = STR("spec"), .a = a, .problems = problems
        };
        struct fields f = fields_required(&top, "leaderWorkerTemplate");
        struct fields leader = fields_of(&f, "leaderTemplate"), worker = fields_required(&f, "workerTemplate");
        struct group_template t = { .size = fields_number(&f, "size", 1, &sizes) };
        const struct value *own_leader = read_pod(&leader);
        size_t restart = fields_word(&f, "restartPolicy", restarts, ARRAY_LEN(restarts), GROUP_RESTART_ON_POD_RESTART);

        t.worker = read_pod(&worker);
        if (!t.worker)
                t.worker = &value_empty_map;
        t.leader = own_leader ? own_leader : t.worker;
        t.restart = restart > GROUP_RESTART_NONE ? GROUP_RESTART_NONE : (enum group_restart)restart;
        read_subgroups(&f, &t);
        t.claims = read_claims(&f);
        read_retention(&f, &t);
        fields_check_known(&f, known);
        read_network(&top, &t);
        t.payload = payload_of(&t, own_leader != NULL, a);
        t.hash = payload_hash(t.payload, a);
        *ret_template = t;
        return problems->count > before ? ERR_INVAL : 0;
}

/* --- stored revisions --- */

bool group_template_equal(const struct group_template *a, const struct group_template *b) {
        return value_equal(a->payload, b->payload);
}

/* Upstream's revisions are patches, and say of both maps that they replace what is there. */
static const struct value *without_directives(const struct value *spec, struct arena *a) {
        static const char *const keys[] = { "leaderWorkerTemplate", "networkConfig" };

        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                const struct value *part = value_getc(spec, keys[i]);

                if (value_getc(part, "$patch"))
                        spec = value_with(a, spec, str_from(keys[i]), value_with(a, part, STR("$patch"), NULL));
        }
        return spec;
}

int group_revision_read(const struct value *controller_revision, struct arena *a, struct group_template *ret_template,
                        struct err *err) {
        const struct value *spec = value_path(controller_revision, "data", "spec", NULL);
        struct str label =
                value_text(value_path(controller_revision, "metadata", "labels", GROUP_LABEL_REVISION, NULL));
        struct group_problems problems = { 0 };
        struct group_template t;

        if (!value_is(spec, VALUE_MAP))
                return err_set(err, ERR_PARSE, "data.spec is no map");
        if (group_template_read(without_directives(spec, a), a, &t, &problems) < 0)
                return err_set(err, ERR_PARSE, "data.%.*s: %.*s", STR_FMT(problems.items[0].path),
                               STR_FMT(problems.items[0].text));
        if (label.n)
                t.hash = arena_str(a, label);
        *ret_template = t;
        return 0;
}
