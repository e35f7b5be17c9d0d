/* SPDX-License-Identifier: Apache-2.0 */
#include "expect.h"

#include "act.h"
#include "base/map.h"
#include "base/pointer.h"

static const char *const status_words[] = { "Unknown", "Synced", "OutOfSync" };

static const struct value *at_path(const struct value *object, struct str path, struct arena *a) {
        struct pointer p;

        return pointer_parse(path, a, &p, NULL) == 0 ? pointer_find(object, p) : NULL;
}

/* The name of an object in `met`; versions do not count. */
static struct str name_in_met(struct str plural, struct str group, struct str ns, struct str name, struct arena *a) {
        return arena_strf(a, "%.*s.%.*s %.*s/%.*s", STR_FMT(plural), STR_FMT(group), STR_FMT(ns), STR_FMT(name));
}

static struct str name_of_commit(const struct sandbox_commit *c, struct arena *a) {
        return name_in_met(act_plural(c->kind, a), c->group, c->namespace, c->name, a);
}

static struct str name_of_ref(const struct value *text, struct arena *a) {
        struct ref r;

        ref_parse(value_text(text), &r);
        return name_in_met(r.plural, r.group, r.ns, r.name, a);
}

/* There was such an object, or its kind is served: a misspelt one is absent for ever, and never does anything. */
static bool is_known(struct world *w, const struct value *text, struct arena *a) {
        struct sandbox_reply reply;
        struct ref r;

        if (map_find(w->met, name_of_ref(text, a)))
                return true;
        ref_parse(value_text(text), &r);
        ask(w, KUBE_GET, ref_path(&r, a), "application/json", STR(""), STR("admin"), a, &reply);
        return !str_contains(reply.body, STR("could not find the requested resource"));
}

/* Numbers and booleans may be written plainly in the scenario, texts of objects too. */
static bool is_value(const struct value *found, const struct value *wanted) {
        return found && value_equal(found, wanted);
}

static struct str shown(const struct value *v, struct arena *a) {
        return v ? value_canonical(a, v) : STR("nothing");
}

/* Does an entry of this manager own exactly the path? Fields only, no list items. */
static bool owns(const struct value *object, struct str manager, struct str path, struct arena *a) {
        const struct value *entries = value_path(object, "metadata", "managedFields", NULL);
        struct pointer p;

        if (pointer_parse(path, a, &p, NULL) < 0)
                return false;
        for (size_t i = 0; i < value_count(entries); i++) {
                const struct value *e = entries->list.items[i], *at = value_getc(e, "fieldsV1");

                if (!str_eq(value_text(value_getc(e, "manager")), manager))
                        continue;
                for (size_t k = 0; at && k < p.count; k++)
                        at = value_get(at, arena_strf(a, "f:%.*s", STR_FMT(p.tokens[k])));
                if (at)
                        return true;
        }
        return false;
}

static void expect_path(struct world *w, const struct value *e, const struct value *object, const char *what,
                        struct arena *a) {
        struct str path = scenario_text(e, "path", "");
        const struct value *found = at_path(object, path, a), *wanted = value_getc(e, "equals");
        struct str owner = scenario_text(e, "owner", ""), stranger = scenario_text(e, "notOwner", "");

        if (wanted && !is_value(found, wanted))
                world_fail(w, "%s: %.*s is %.*s, not %.*s", what, STR_FMT(path), STR_FMT(shown(found, a)),
                           STR_FMT(shown(wanted, a)));
        if (scenario_bool(e, "missing", false) && found)
                world_fail(w, "%s: %.*s is %.*s, there should be nothing", what, STR_FMT(path), STR_FMT(shown(found, a)));
        if (owner.n && !owns(object, owner, path, a))
                world_fail(w, "%s: %.*s does not own %.*s", what, STR_FMT(owner), STR_FMT(path));
        if (stranger.n && owns(object, stranger, path, a))
                world_fail(w, "%s: %.*s owns %.*s", what, STR_FMT(stranger), STR_FMT(path));
}

static void expect_object(struct world *w, const struct value *e, const char *when, struct arena *a) {
        struct str ref = value_text(value_getc(e, "object"));
        const struct value *object = ref_get(w, ref);
        const char *what = arena_strf(a, "%s, line %u: %.*s", when, e->line, STR_FMT(ref)).p;

        if (scenario_bool(e, "absent", false)) {
                if (object)
                        world_fail(w, "%s exists", what);
                else if (world_is_plain(w) && !is_known(w, value_getc(e, "object"), a))
                        world_fail(w, "%s: no such kind is served, nor was there such an object", what);
        } else if (!object) {
                world_fail(w, "%s does not exist", what);
        } else if (value_getc(e, "path")) {
                expect_path(w, e, object, what, a);
        }
}

static void expect_app(struct world *w, const struct value *e, const char *when, struct arena *a) {
        struct str name = scenario_text(e, "app", "shop"), status = scenario_text(e, "status", ""), text;
        struct str holds = scenario_text(e, "holds", ""), lacks = scenario_text(e, "lacks", "");
        const struct value *map = ref_get(w, arena_strf(a, "configmaps " SIM_NAMESPACE "/truce-inventory-%.*s", STR_FMT(name)));

        text = value_text(value_path(map, "data", "status", NULL));
        if (status.n && !str_contains(text, arena_strf(a, "\"sync\":\"%.*s\"", STR_FMT(status))))
                world_fail(w, "%s, line %u: the status of %.*s is not %.*s: %.*s", when, e->line, STR_FMT(name), STR_FMT(status),
                           STR_FMT(text));
        if (holds.n && !str_contains(text, holds))
                world_fail(w, "%s, line %u: the status of %.*s does not hold \"%.*s\": %.*s", when, e->line, STR_FMT(name),
                           STR_FMT(holds), STR_FMT(text));
        if (lacks.n && str_contains(text, lacks))
                world_fail(w, "%s, line %u: the status of %.*s holds \"%.*s\": %.*s", when, e->line, STR_FMT(name),
                           STR_FMT(lacks), STR_FMT(text));
}

static void expect_count(struct world *w, const struct value *e, const char *when) {
        int64_t writes = scenario_int(e, "writes", -1), requests = scenario_int(e, "requests", -1);
        int64_t most = scenario_int(e, "most", -1);

        if (writes >= 0 && (uint64_t)writes != w->writes)
                world_fail(w, "%s, line %u: %llu writes, not %lld", when, e->line, (unsigned long long)w->writes,
                           (long long)writes);
        if (most >= 0 && w->writes > (uint64_t)most)
                world_fail(w, "%s, line %u: %llu writes, more than %lld", when, e->line, (unsigned long long)w->writes,
                           (long long)most);
        if (requests >= 0 && (uint64_t)requests != w->requests)
                world_fail(w, "%s, line %u: %llu requests, not %lld", when, e->line, (unsigned long long)w->requests,
                           (long long)requests);
}

static size_t lines_with(const struct world *w, struct str text) {
        struct str rest = buf_str(&w->told), line;
        size_t lines = 0;

        while (str_next(&rest, '\n', &line))
                lines += str_contains(line, text);
        return lines;
}

static void expect_told(struct world *w, const struct value *e, const char *when) {
        struct str text = scenario_text(e, "told", ""), silent = scenario_text(e, "notTold", ""),
                   once = scenario_text(e, "toldOnce", "");

        if (text.n && !str_contains(buf_str(&w->told), text))
                world_fail(w, "%s, line %u: nothing was told that holds \"%.*s\"", when, e->line, STR_FMT(text));
        if (silent.n && str_contains(buf_str(&w->told), silent))
                world_fail(w, "%s, line %u: something was told that holds \"%.*s\"", when, e->line, STR_FMT(silent));
        if (once.n && lines_with(w, once) != 1)
                world_fail(w, "%s, line %u: \"%.*s\" was told %zu times", when, e->line, STR_FMT(once), lines_with(w, once));
}

void expect_all(struct world *w, const struct value *list, const char *when) {
        for (size_t i = 0; i < value_count(list); i++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                const struct value *e = list->list.items[i];

                if (value_getc(e, "object"))
                        expect_object(w, e, when, a);
                if (value_getc(e, "status") || value_getc(e, "holds") || value_getc(e, "lacks"))
                        expect_app(w, e, when, a);
                expect_count(w, e, when);
                expect_told(w, e, when);
        }
}

static bool is_in_force(const struct world *w, const struct value *rule) {
        struct str after = scenario_text(rule, "after", ""), until = scenario_text(rule, "until", "");

        return (!after.n || map_find(w->marks, after)) && (!until.n || !map_find(w->marks, until));
}

void expect_never(struct world *w, const struct sandbox_commit *commit) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *list = value_getc(w->doc, "never");
        struct str name = name_of_commit(commit, a);

        map_set(w->met, name, w);
        for (size_t i = 0; i < value_count(list); i++) {
                const struct value *rule = list->list.items[i];

                if (!str_eq(name, name_of_ref(value_getc(rule, "object"), a)) || !is_in_force(w, rule))
                        continue;
                if (scenario_bool(rule, "deleted", false) && !commit->after)
                        world_fail(w, "never, line %u: it was deleted", rule->line);
                if (value_getc(rule, "path") && commit->after &&
                    is_value(at_path(commit->after, scenario_text(rule, "path", ""), a), value_getc(rule, "equals")))
                        world_fail(w, "never, line %u: it has this value now", rule->line);
        }
}

void expect_met(struct world *w) {
        const struct value *list = value_getc(w->doc, "never");

        for (size_t i = 0; i < value_count(list); i++) {
                _cleanup_(arena_freep) struct arena *a = arena_new(0);
                const struct value *rule = list->list.items[i];

                if (!is_known(w, value_getc(rule, "object"), a))
                        world_fail(w, "never, line %u: no such kind is served, nor was there such an object", rule->line);
        }
}

static struct str wanted_end(const struct world *w, struct str app) {
        const struct value *ends = value_getc(w->doc, "ends");

        if (value_is(ends, VALUE_STRING))
                return ends->text;
        const struct value *end = value_get(ends, app);
        return end ? value_text(end) : STR("Synced");
}

static const char *head_of(const struct world *w, const struct config_source *source, const char *what) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const char *repo = str_contains(source->repo_url, STR("infra")) ? "infra/" : "";

        return map_find(w->heads, arena_strf(a, "%srefs/%s/%.*s", repo, what, STR_FMT(source->revision)));
}

/* The subject of a commit is its name in the scenario. */
static bool has_newest(const struct world *w, size_t i) {
        const struct config_app *app = &w->config->apps[i];
        struct agent_revision r;

        agent_app_revision(w->agent, i, &r);
        for (size_t k = 0; k < app->source_count; k++) {
                const char *branch = head_of(w, &app->sources[k], "heads"), *tag = head_of(w, &app->sources[k], "tags");
                const char *head = branch ? branch : tag;

                if (head && (k >= r.count || !str_eqc(r.commits[k].subject, head)))
                        return false;
        }
        return true;
}

bool expect_app_ends(const struct world *w, size_t i, const char *word) {
        const char *now = status_words[agent_sync_status(w->agent, agent_app(w->agent, i))];

        if (strcmp(word, "any") == 0)
                return true;
        return strcmp(word, now) == 0 && (strcmp(word, "Synced") != 0 || has_newest(w, i));
}

bool expect_settled(const struct world *w) {
        for (size_t i = 0; w->agent && i < agent_app_count(w->agent); i++) {
                if (!expect_app_ends(w, i, wanted_end(w, w->config->apps[i].name).p))
                        return false;
        }
        return w->agent != NULL;
}
