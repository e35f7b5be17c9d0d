/* SPDX-License-Identifier: Apache-2.0 */
/* Do the jq programs of the ignore rules compile? A worker says so, for a program may be written to hang who looks at it. */
#include "agent/config_impl.h"
#include "agent/jq.h"

/* Whose a program is. */
struct owner {
        struct config_app *app; /* NULL: the system's */
        const struct config_program *program;
};

struct checking {
        struct config *c;
        struct owner *owners;
        struct jq_rule *rules;
        size_t count;
        bool *refused; /* of each application */
};

static size_t programs_of(const struct config_ignores *rules) {
        size_t count = 0;

        for (size_t i = 0; i < rules->count; i++)
                count += rules->rules[i].program_count;
        return count;
}

static void gather(struct checking *k, struct config_app *app, const struct config_ignores *rules) {
        for (size_t i = 0; i < rules->count; i++)
                for (size_t p = 0; p < rules->rules[i].program_count; p++) {
                        const struct config_program *program = &rules->rules[i].programs[p];

                        k->owners[k->count] = (struct owner){ app, program };
                        k->rules[k->count++] = (struct jq_rule){ program->text, str_from(program->place) };
                }
}

/* "apps.yaml:12" */
static struct config_place place_of(const struct config_program *program) {
        struct str place = str_from(program->place);
        size_t colon = place.n;
        uint64_t line = 0;

        while (colon > 0 && place.p[colon - 1] != ':')
                colon--;
        str_to_u64(str_sub(place, colon, place.n), &line);
        return (struct config_place){ str_sub(place, 0, colon ? colon - 1 : 0), (uint32_t)line };
}

/* The message begins with the place, which a problem has beside it. */
static struct str without_place(const struct err *err, const struct config_program *program) {
        struct str message = str_from(err->msg), place = str_from(program->place);

        return str_starts(message, place) ? str_trim(str_sub(message, place.n + 1, message.n)) : message;
}

static void judge(struct checking *k, size_t i, const struct jq_result *result) {
        const struct owner *o = &k->owners[i];
        struct config *c = k->c;

        if (result->verdict == JQ_PATHS || result->verdict == JQ_UNAVAILABLE)
                return;
        config_add_problem(c, (struct config_problem){
                .severity = o->app ? CONFIG_REFUSED : CONFIG_ERROR,
                .place = place_of(o->program),
                .app = o->app ? config_app_title(o->app->ns, o->app->name, c->arena) : STR(""),
                .message = arena_strf(c->arena, "jqPathExpressions: %.*s", STR_FMT(without_place(result->err, o->program))),
        });
        if (o->app)
                k->refused[o->app - c->apps] = true;
}

static void on_checked(void *ctx, const struct jq_result *results, size_t count) {
        struct checking *k = ctx;

        for (size_t i = 0; i < count; i++)
                judge(k, i, &results[i]);
}

static void drop_refused(struct checking *k) {
        struct config *c = k->c;
        size_t kept = 0;

        for (size_t i = 0; i < c->app_count; i++) {
                c->refused_count += k->refused[i];
                if (!k->refused[i])
                        c->apps[kept++] = c->apps[i];
        }
        c->app_count = kept;
}

int config_check_programs(struct config *c, struct err *err) {
        size_t count = programs_of(&c->ignores);
        struct checking k = { .c = c, .refused = arena_zalloc(c->arena, c->app_count + 1) };

        for (size_t i = 0; i < c->app_count; i++)
                count += programs_of(&c->apps[i].own_ignores);
        if (!count)
                return 0;
        k.owners = arena_alloc(c->arena, count * sizeof *k.owners);
        k.rules = arena_alloc(c->arena, count * sizeof *k.rules);
        gather(&k, NULL, &c->ignores);
        for (size_t i = 0; i < c->app_count; i++)
                gather(&k, &c->apps[i], &c->apps[i].own_ignores);
        int r = jq_check(&(struct jq_worker_spec){ 0 }, k.rules, k.count, on_checked, &k, err);
        if (r == 0)
                drop_refused(&k);
        return r;
}
