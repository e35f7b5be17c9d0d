/* SPDX-License-Identifier: Apache-2.0 */
/* What groups need beside pods: services, revisions, claims. */
#include "group/group_impl.h"

#include "group/build.h"
#include "group/names.h"

/* Another's object has one of our names: nothing is done about it, and people are told. */
static void take_note_of_name(struct planner *p, const char *kind, struct str name) {
        if (!p->name_taken.n)
                p->name_taken = arena_strf(p->a, "%s %.*s", kind, STR_FMT(name));
}

/* Services */

static const struct group_service *find_service(const struct planner *p, struct str name) {
        for (size_t i = 0; i < p->o->service_count; i++)
                if (str_eq(p->o->services[i].name, name))
                        return &p->o->services[i];
        return NULL;
}

/* Of which template are the pods of this group, those that live or those that come? */
static const struct group_template *template_of(const struct planner *p, const struct group *g) {
        if (g->live && g->own)
                return &g->own->t;
        return &plan_target_of(p, g)->t;
}

/* True when it is made in this plan. */
static bool keep_service(struct planner *p, int32_t group, struct str name) {
        const struct group_service *there = find_service(p, name);
        struct group_action *act;

        if (there) {
                if (!plan_is_ours(p, there->owner_uid))
                        take_note_of_name(p, "Service", name);
                return false;
        }
        act = plan_act(p, GROUP_CREATE, GROUP_SERVICE, PHASE_MAIN, "service");
        act->name = name;
        act->group = group;
        act->body = group_build_service(p->s, group, p->a);
        return true;
}

static bool shares_subdomain(const struct planner *p) {
        if (p->want->t.subdomain == GROUP_SUBDOMAIN_SHARED)
                return true;
        for (size_t i = 0; i < p->group_count; i++) {
                const struct group *g = &p->groups[i];

                if ((g->count || g->position >= 0) && template_of(p, g)->subdomain == GROUP_SUBDOMAIN_SHARED)
                        return true;
        }
        return false;
}

/* Whose pods, if any are left or wanted, are found through this service? */
static bool serves_a_group(const struct planner *p, struct str service) {
        struct str set;
        int32_t index;

        if (!group_parent_ordinal(service, &set, &index) || !str_eq(set, p->s->name))
                return false;
        const struct group *g = plan_find_group(p, index);
        if (!g || (g->position < 0 && !g->count))
                return false;
        return g->count || template_of(p, g)->subdomain == GROUP_SUBDOMAIN_UNIQUE;
}

static void drop_services(struct planner *p, bool shared) {
        for (size_t i = 0; i < p->o->service_count; i++) {
                const struct group_service *service = &p->o->services[i];
                bool needed = str_eq(service->name, p->s->name) ? shared : serves_a_group(p, service->name);
                struct group_action *act;

                if (needed || !plan_is_ours(p, service->owner_uid))
                        continue;
                act = plan_act(p, GROUP_DELETE, GROUP_SERVICE, PHASE_MAIN, "no group uses it");
                act->name = service->name;
                act->uid = service->uid;
                act->resource_version = service->resource_version;
        }
}

void plan_keep_services(struct planner *p) {
        bool shared = shares_subdomain(p);

        if (shared)
                p->shared_service_pending = keep_service(p, -1, p->s->name);
        for (int32_t i = 0; i < p->wanted_count; i++) {
                struct group *g = p->wanted[i];
                bool unique = template_of(p, g)->subdomain == GROUP_SUBDOMAIN_UNIQUE;

                g->waits_for_service = unique ? keep_service(p, g->index, group_name_leader(p->a, p->s->name, g->index))
                                              : p->shared_service_pending;
        }
        drop_services(p, shared);
}

/* Revisions */

static int64_t next_number(const struct planner *p) {
        int64_t highest = 0;

        for (size_t i = 0; i < p->revision_count; i++)
                if (p->revisions[i].number > highest)
                        highest = p->revisions[i].number;
        return highest + 1;
}

static bool is_used(const struct planner *p, const struct revision *r) {
        for (size_t i = 0; i < p->our_count; i++)
                if (str_eq(p->ours[i]->revision, r->t.hash))
                        return true;
        for (size_t i = 0; i < p->after.restart_count; i++)
                if (str_eq(p->after.restarts[i].revision, r->t.hash))
                        return true;
        return false;
}

static bool all_are_there(const struct planner *p) {
        for (int32_t i = 0; i < p->wanted_count; i++)
                if (!p->wanted[i]->live)
                        return false;
        return true;
}

/* Would a group that is not there, and whose history names no revision, come back as this one: see plan_target_of()? */
static bool may_come_back(const struct planner *p, const struct revision *r) {
        return r == p->previous && (p->after.rolling || !all_are_there(p));
}

void plan_keep_revisions(struct planner *p) {
        if (!p->want->stored) {
                int64_t number = next_number(p);
                struct group_action *act = plan_act(p, GROUP_CREATE, GROUP_REVISION, PHASE_MAIN, "revision");

                act->name = group_name_revision(p->a, p->s->name, p->want->t.hash, number);
                act->body = group_build_revision(p->s, &p->want->t, number, p->a);
                p->revision_pending = true;
                plan_tell(p, false, "CreatingRevision",
                          arena_strf(p->a, "Creating revision with key %.*s for %s LWS", STR_FMT(p->want->t.hash),
                                     p->previous ? "updated" : "a newly created"));
                return;
        }
        for (size_t i = 0; i < p->revision_count; i++) {
                const struct revision *r = &p->revisions[i];
                struct group_action *act;

                if (r == p->want || is_used(p, r) || may_come_back(p, r))
                        continue;
                act = plan_act(p, GROUP_DELETE, GROUP_REVISION, PHASE_MAIN, "no group uses it");
                act->name = r->stored->name;
                act->uid = r->stored->uid;
                act->resource_version = r->stored->resource_version;
        }
}

/* Claims */

static const struct group_claim *find_claim(const struct planner *p, struct str name) {
        for (size_t i = 0; i < p->o->claim_count; i++)
                if (str_eq(p->o->claims[i].name, name))
                        return &p->o->claims[i];
        return NULL;
}

bool plan_claims_can_be(const struct planner *p, const struct group_template *t, struct str pod, struct str *ret_wait) {
        const struct str *names;
        size_t count = group_claim_names(t, pod, p->a, &names);

        for (size_t i = 0; i < count; i++) {
                const struct group_claim *claim = find_claim(p, names[i]);

                if (claim && claim->deleting) {
                        *ret_wait = arena_strf(p->a, "claim %.*s, which is being deleted", STR_FMT(names[i]));
                        return false;
                }
        }
        return true;
}

size_t plan_make_claims(struct planner *p, const struct group_template *t, const struct group_place *at) {
        const struct str *names;
        size_t count = group_claim_names(t, group_name_pod(p->a, p->s->name, at->group, at->worker), p->a, &names);
        size_t made = 0;

        for (size_t i = 0; i < count; i++) {
                struct group_action *act;

                if (find_claim(p, names[i]))
                        continue;
                act = plan_act(p, GROUP_CREATE, GROUP_CLAIM, PHASE_MAIN, "claim");
                act->name = names[i];
                act->group = at->group;
                act->body = group_build_claim(p->s, t, t->claims->list.items[i], at, p->a);
                made++;
        }
        return made;
}

/* The index of the group that a claim is for: "<template>-<set>-<group>" or with "-<worker>" after it; -1: none. */
static int32_t group_of_claim(const struct planner *p, struct str claim) {
        const struct value *templates = p->want->t.claims;

        for (size_t i = 0; i < value_count(templates); i++) {
                struct str name = value_text(value_path(templates->list.items[i], "metadata", "name", NULL));
                struct str prefix = arena_strf(p->a, "%.*s-%.*s-", STR_FMT(name), STR_FMT(p->s->name));
                struct str rest = str_sub(claim, prefix.n, claim.n), part;
                uint64_t group, worker;

                if (!str_starts(claim, prefix) || !str_next(&rest, '-', &part) || !str_to_u64(part, &group) ||
                    (rest.n && !str_to_u64(rest, &worker)) || group > INT32_MAX)
                        continue;
                return (int32_t)group;
        }
        return -1;
}

/* A claim without owner is the set's when it carries the set's label: claims that outlive the object have no owner. */
static bool is_our_claim(const struct planner *p, const struct group_claim *claim) {
        return claim->owner_uid.n ? plan_is_ours(p, claim->owner_uid) : str_eq(claim->set, p->s->name);
}

void plan_drop_claims(struct planner *p) {
        for (size_t i = 0; p->want->t.delete_claims_when_scaled && i < p->o->claim_count; i++) {
                const struct group_claim *claim = &p->o->claims[i];
                int32_t index = group_of_claim(p, claim->name);
                const struct group *g = index >= 0 ? plan_find_group(p, index) : NULL;
                struct group_action *act;

                if (index < 0 || (g && (g->position >= 0 || g->count)) || claim->deleting || !is_our_claim(p, claim))
                        continue;
                act = plan_act(p, GROUP_DELETE, GROUP_CLAIM, PHASE_MAIN, "scale down");
                act->name = claim->name;
                act->uid = claim->uid;
                act->resource_version = claim->resource_version;
                act->group = index;
        }
}
