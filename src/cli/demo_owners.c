/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns what in deploy/web: managedFields as the API server has them, and what truce makes of it. */
#include "cli/demo_impl.h"

#define MAX_OWNERS 8

static const struct path_element replicas[] = {
        { .kind = PATH_FIELD, .name = { "spec", 4 } },
        { .kind = PATH_FIELD, .name = { "replicas", 8 } },
};
static const struct path_element revision[] = {
        { .kind = PATH_FIELD, .name = { "metadata", 8 } },
        { .kind = PATH_FIELD, .name = { "annotations", 11 } },
        { .kind = PATH_FIELD, .name = { "deployment.kubernetes.io/revision", 33 } },
};
static const struct path_element strategy[] = {
        { .kind = PATH_FIELD, .name = { "spec", 4 } },
        { .kind = PATH_FIELD, .name = { "strategy", 8 } },
};

static struct field_path image_path(struct arena *a) {
        static const char *const parents[] = { "spec", "template", "spec", "containers" };
        struct path_element *e = arena_zalloc(a, (ARRAY_LEN(parents) + 2) * sizeof *e);

        for (size_t i = 0; i < ARRAY_LEN(parents); i++)
                e[i] = path_field(str_from(parents[i]));
        e[4] = (struct path_element){ .kind = PATH_KEY,
                                      .value = value_with(a, NULL, STR("name"), value_stringc(a, "web")) };
        e[5] = path_field(STR("image"));
        return (struct field_path){ e, 6 };
}

/* The newest owner beside whom truce may own the path, too; NULL: nobody. */
static const struct managed_entry *owner_of(const struct managed *m, struct field_path p) {
        const struct managed_entry *owners[MAX_OWNERS], *found = NULL;
        size_t count = managed_owners(m, p, owners, MAX_OWNERS);

        for (size_t i = 0; i < count && i < MAX_OWNERS; i++)
                if (!found || managed_is_ours(owners[i]))
                        found = owners[i];
        return found;
}

static const struct demo_note *note_of(const struct demo *d, struct field_path p) {
        _cleanup_(buf_done) struct buf path = buf_make(SIZE_MAX);

        field_path_print_short(p, &path);
        for (size_t i = 0; i < d->note_count; i++)
                if (strcmp(d->notes[i].path, path.p) == 0)
                        return &d->notes[i];
        return NULL;
}

static void add_yields(const struct demo_note *note, struct buf *out) {
        struct str to = str_from(note->owner), hpa = STR("HorizontalPodAutoscaler ");

        if (str_starts(to, hpa))
                buf_addf(out, "yields to HPA %.*s", STR_FMT(str_sub(to, hpa.n, to.n)));
        else
                buf_addf(out, "yields to %.*s", STR_FMT(to.n ? to : str_from(note->rule)));
}

static void add_verdict(const struct demo *d, const struct managed_entry *owner, const struct demo_note *note,
                        const char *line_text, struct buf *out) {
        if (note && note->kind == DECIDE_YIELDED)
                add_yields(note, out);
        else if (note)
                buf_addf(out, "%s: %s", decide_note_name(note->kind), note->rule);
        else if (owner && managed_is_ours(owner))
                buf_addf(out, "enforces: web.yaml:%u", shop_line(d->shop, "web.yaml", line_text));
        else
                buf_addc(out, owner ? "leaves: not in Git" : "leaves: a default");
}

static void print_row(struct demo *d, const struct managed *m, struct field_path p, const char *shown,
                      const char *line_text) {
        _cleanup_(buf_done) struct buf name = buf_make(4096), verdict = buf_make(4096);
        const struct managed_entry *owner = owner_of(m, p);

        if (owner)
                buf_addf(&name, "%.*s%s%.*s%s", STR_FMT(owner->manager), owner->subresource.n ? " (" : "",
                         STR_FMT(owner->subresource), owner->subresource.n ? ")" : "");
        else
                buf_addc(&name, "nobody");
        add_verdict(d, owner, note_of(d, p), line_text, &verdict);
        screen_row(d->screen, SCREEN_PLAIN, str_from(shown), buf_str(&name), buf_str(&verdict));
}

int demo_print_owners(struct demo *d, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        struct field_path image = image_path(a);
        struct managed m;
        int r = managed_parse(d->web.object, a, &m, err);

        if (r < 0)
                return r;
        const struct managed_entry *owner = owner_of(&m, image);
        if (!owner || !managed_is_ours(owner))
                return err_set(err, ERR_INTERNAL, "truce does not own the image of deploy/web");
        if (managed_other_owner(&m, (struct field_path){ replicas, 2 }, false) == NULL)
                return err_set(err, ERR_INTERNAL, "nobody but truce owns the replicas of deploy/web");
        screen_row(d->screen, SCREEN_QUIET, STR("path"), STR("owner"), STR("truce"));
        print_row(d, &m, (struct field_path){ replicas, 2 }, "spec.replicas", "replicas:");
        print_row(d, &m, image, "spec.template…containers[web].image", "image:");
        print_row(d, &m, (struct field_path){ revision, 3 }, "metadata.annotations[…/revision]", "");
        print_row(d, &m, (struct field_path){ strategy, 2 }, "spec.strategy", "");
        return 0;
}
