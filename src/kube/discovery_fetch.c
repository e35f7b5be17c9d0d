/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/discovery_impl.h"

#include "base/limits.h"
#include "kube/client_impl.h"

#define ACCEPT                                                                                                         \
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"                                        \
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

/* The two roots; each has its own sections, so that core ranks first whoever answers first. */
enum root { ROOT_CORE, ROOT_GROUPS, ROOT_COUNT };

/* One request of a fetch. */
struct part {
        struct kube_discovery_fetch *fetch;
        struct part *prev, *next;
        struct kube_op *op;
        enum root root;
        size_t section; /* SIZE_MAX: the root document */
};

struct kube_discovery_fetch {
        struct kube_task task; /* first */
        struct kube_client *client;
        struct kube_discovery *previous, *d;
        struct section_list lists[ROOT_COUNT];
        struct part *parts; /* under way */
        struct err err;     /* of a root; code 0 while all is well */
        kube_discovery_done_fn done;
        void *ctx;
};

static void part_free(struct part *p) {
        if (p->prev)
                p->prev->next = p->next;
        else
                p->fetch->parts = p->next;
        if (p->next)
                p->next->prev = p->prev;
        free(p);
}

static void fetch_free(struct kube_discovery_fetch *f) {
        for (struct part *p = f->parts, *next; p; p = next) {
                next = p->next;
                kube_op_cancel(p->op);
                free(p);
        }
        for (size_t i = 0; i < ROOT_COUNT; i++)
                section_list_done(&f->lists[i]);
        kube_discovery_unref(f->previous);
        kube_discovery_unref(f->d);
        free(f);
}

static void fetch_abort(struct kube_task *task) {
        struct kube_discovery_fetch *f = (struct kube_discovery_fetch *)task;

        kube_task_remove(f->client, task);
        fetch_free(f);
}

void kube_discovery_fetch_cancel(struct kube_discovery_fetch *f) {
        if (f)
                fetch_abort(&f->task);
}

/* Core first, then the groups, in one list. */
static int fetch_assemble(struct kube_discovery_fetch *f, struct err *err) {
        struct section_list *core = &f->lists[ROOT_CORE], *groups = &f->lists[ROOT_GROUPS];

        core->sections = mem_grow(core->sections, &core->cap, core->count + groups->count + 1, sizeof *core->sections);
        for (size_t i = 0; i < groups->count; i++)
                core->sections[core->count++] = groups->sections[i];
        groups->count = 0;
        return discovery_finish(f->d, core, f->previous, err);
}

static void fetch_end(struct kube_discovery_fetch *f) {
        kube_task_remove(f->client, &f->task);
        if (!f->err.code)
                fetch_assemble(f, &f->err);
        if (f->err.code)
                f->done(f->ctx, NULL, &f->err);
        else
                f->done(f->ctx, f->d, NULL);
        fetch_free(f);
}

static void part_done(void *ctx, const struct kube_result *result);

static void part_start(struct kube_discovery_fetch *f, enum root root, size_t section, struct str path) {
        struct part *p = mem_zalloc(sizeof *p);

        p->fetch = f;
        p->root = root;
        p->section = section;
        p->next = f->parts;
        if (p->next)
                p->next->prev = p;
        f->parts = p;
        p->op = kube_client_get_document(f->client, path, section == SIZE_MAX ? ACCEPT : NULL, part_done, p);
}

/* A plain root names group versions; each is a request of its own. */
static void ask_sections(struct kube_discovery_fetch *f, enum root root) {
        struct section_list *list = &f->lists[root];

        for (size_t i = 0; i < list->count; i++) {
                struct section *s = &list->sections[i];
                _cleanup_(buf_done) struct buf path = buf_make(KUBE_MAX_PATH_BYTES);

                buf_addc(&path, root == ROOT_CORE ? "/api/" : "/apis/");
                kube_path_encode(&path, s->group);
                if (s->group.n)
                        buf_addch(&path, '/');
                kube_path_encode(&path, s->version);
                part_start(f, root, i, buf_str(&path));
        }
}

static int root_answered(struct kube_discovery_fetch *f, enum root root, struct str body, struct err *err) {
        enum discovery_document document;
        int r = discovery_read(f->d, &f->lists[root], body, &document, err);

        if (r < 0)
                return err_wrap(err, r, "%s", root == ROOT_CORE ? "/api" : "/apis");
        if (document == DISCOVERY_VERSIONS || document == DISCOVERY_GROUPS)
                ask_sections(f, root);
        return 0;
}

static void section_answered(struct kube_discovery_fetch *f, struct section *s, const struct kube_result *result) {
        struct err err = result->err;

        if (!err.code)
                discovery_read_resources(f->d, s, result->body, &err);
        if (err.code)
                s->why = str_dup(str_from(err.msg));
}

static void part_done(void *ctx, const struct kube_result *result) {
        struct part *p = ctx;
        struct kube_discovery_fetch *f = p->fetch;

        if (p->section != SIZE_MAX)
                section_answered(f, &f->lists[p->root].sections[p->section], result);
        else if (result->err.code)
                f->err = result->err;
        else
                root_answered(f, p->root, result->body, &f->err);

        part_free(p);
        if (!f->parts)
                fetch_end(f);
}

struct kube_discovery_fetch *kube_discovery_fetch(struct kube_client *c, struct kube_discovery *previous,
                                                  kube_discovery_done_fn done, void *ctx) {
        struct kube_discovery_fetch *f = mem_zalloc(sizeof *f);

        f->task.abort = fetch_abort;
        f->client = c;
        f->previous = kube_discovery_ref(previous);
        f->d = discovery_new();
        f->done = done;
        f->ctx = ctx;
        kube_task_add(c, &f->task);
        part_start(f, ROOT_CORE, SIZE_MAX, STR("/api"));
        part_start(f, ROOT_GROUPS, SIZE_MAX, STR("/apis"));
        return f;
}
