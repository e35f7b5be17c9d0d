/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of controllers, scheduler and kubelet, and what client-go's EventCorrelator does with too many of them: the
 * same Event again only counts up; from the tenth on that differs in nothing but its message they are combined into
 * one; and one object gets 25 at once, then one in five minutes. What is remembered for that is thrown away when it
 * becomes much.
 *
 * Source: k8s.io/client-go/tools/{record,events}.
 */
#include "sandbox/controllers_impl.h"

#include <inttypes.h>

#define SIMILAR_MAX       10
#define SIMILAR_WINDOW_MS (600 * SECOND_MS)
#define BURST             25
#define REFILL_MS         (300 * SECOND_MS)
#define REMEMBERED_MAX    4096
#define MESSAGE_MAX_BYTES 1024
#define COMBINED          "(combined from similar events): "
#define SCHEDULER         "default-scheduler"

/* What was written with one key. */
struct memory {
        char name[256]; /* of the Event, when the key is an Event's */
        int64_t seen;   /* of a group: messages; of an object: Events */
        int64_t at_ms;  /* of a group: the last one; of an object: when `seen` was counted */
};

struct recorder {
        struct map *events, *groups, *objects; /* → struct memory */
        uint32_t written;
};

struct record {
        const struct value *about;
        const char *component, *host, *type, *reason;
        struct str field_path, message;
};

/* ---- memory ---- */

static void maps_new(struct recorder *r) {
        r->events = map_new(free);
        r->groups = map_new(free);
        r->objects = map_new(free);
}

static void maps_free(struct recorder *r) {
        map_free(r->events);
        map_free(r->groups);
        map_free(r->objects);
}

struct recorder *recorder_new(void) {
        struct recorder *r = mem_zalloc(sizeof *r);

        maps_new(r);
        return r;
}

void recorder_free(struct recorder *r) {
        if (!r)
                return;
        maps_free(r);
        free(r);
}

static struct memory *remember(struct map *map, struct str key) {
        struct memory *m = map_find(map, key);

        if (!m) {
                m = mem_zalloc(sizeof *m);
                map_set(map, key, m);
        }
        return m;
}

/* May this object have one more? */
static bool take_token(struct recorder *r, struct str object, int64_t now) {
        struct memory *m = remember(r->objects, object);
        int64_t refilled = m->seen ? (now - m->at_ms) / REFILL_MS : 0;

        if (m->seen == 0 || refilled >= m->seen) {
                m->seen = 0;
                m->at_ms = now;
        } else {
                m->seen -= refilled;
                m->at_ms += refilled * REFILL_MS;
        }
        if (m->seen >= BURST)
                return false;
        m->seen++;
        return true;
}

/* Has the group had its ten messages? */
static bool is_one_too_many(struct recorder *r, struct str group, bool is_known, int64_t now) {
        struct memory *m = remember(r->groups, group);

        if (now - m->at_ms > SIMILAR_WINDOW_MS)
                m->seen = 0;
        m->at_ms = now;
        if (!is_known && m->seen < SIMILAR_MAX)
                m->seen++;
        else if (!is_known)
                return true;
        return false;
}

/* ---- writing ---- */

static struct str namespace_of(const struct record *e) {
        struct str namespace = meta_text(e->about, "namespace");

        return namespace.n ? namespace : STR("default");
}

static const struct value *reference(struct look *l, const struct record *e) {
        struct arena *a = l->a;

        return make_map(a, "apiVersion", make_text(a, controllers_table[l->res].api_version), "kind",
                        make_text(a, controllers_table[l->res].kind), "name",
                        value_path(e->about, "metadata", "name", NULL), "namespace",
                        value_path(e->about, "metadata", "namespace", NULL), "uid",
                        value_path(e->about, "metadata", "uid", NULL), "resourceVersion",
                        value_path(e->about, "metadata", "resourceVersion", NULL), "fieldPath",
                        e->field_path.n ? make_str(a, e->field_path) : NULL, NULL);
}

static const struct value *new_event(struct look *l, struct call *c, const struct record *e, struct str name) {
        struct arena *a = l->a;
        bool is_scheduler = strcmp(e->component, SCHEDULER) == 0;
        const struct value *now = make_str(a, c->now);
        const struct value *meta =
                make_map(a, "name", make_str(a, name), "namespace", make_str(a, namespace_of(e)), NULL);
        const struct value *event = make_map(
                a, "apiVersion", make_text(a, "v1"), "kind", make_text(a, "Event"), "metadata", meta, "involvedObject",
                reference(l, e), "type", make_text(a, e->type), "reason", make_text(a, e->reason), "message",
                make_str(a, e->message), "reportingComponent", make_text(a, e->component), NULL);

        if (is_scheduler) { /* of events.k8s.io/v1 */
                event = value_with(a, event, STR("action"), make_text(a, "Binding"));
                event = value_with(a, event, STR("reportingInstance"), make_text(a, SCHEDULER "-" SANDBOX_NODE));
                return value_with(a, event, STR("eventTime"),
                                  make_textf(a,
                                             "%.*s.%06d"
                                             "Z",
                                             (int)c->now.n - 1, c->now.p, (int)(look_wall_ms(l) % SECOND_MS * 1000)));
        }
        event = value_with(a, event, STR("source"),
                           make_map(a, "component", make_text(a, e->component), "host",
                                    e->host ? make_text(a, e->host) : NULL, NULL));
        event = value_with(a, event, STR("reportingInstance"), make_text(a, e->host ? e->host : ""));
        event = value_with(a, event, STR("firstTimestamp"), now);
        event = value_with(a, event, STR("lastTimestamp"), now);
        return value_with(a, event, STR("count"), make_int(a, 1));
}

/* Its name is the object's with a time in ns, as client-go makes it: what we count makes it unlike any other. */
static struct str name_of(struct look *l, const struct record *e) {
        struct str object = meta_text(e->about, "name");
        uint64_t ns = (uint64_t)look_wall_ms(l) * 1000000 + l->ctl->recorder->written++ % 1000000;

        return arena_strf(l->a, "%.*s.%016" PRIx64, STR_FMT(str_sub(object, 0, 253 - 17)), ns);
}

static bool count_up(struct call *c, const struct record *e, struct str name) {
        write_aim(c, (struct str){ 0 }, STR("events"), namespace_of(e), name);
        struct version *live = name.n ? write_find(c) : NULL;
        if (!live)
                return false;
        const struct value *event = live->value, *count = value_getc(event, "count");

        event = value_with(c->a, event, STR("count"), make_int(c->a, int_or(count, 1) + 1));
        event = value_with(c->a, event, STR("lastTimestamp"), make_str(c->a, c->now));
        event = value_with(c->a, event, STR("message"), make_str(c->a, e->message));
        write_change(c, live, event, "");
        return true;
}

static void write_event(struct look *l, const struct record *e, struct memory *known) {
        bool is_scheduler = strcmp(e->component, SCHEDULER) == 0;
        struct sandbox_reply reply = { 0 };
        struct call c;

        call_begin(&c, l->ctl->s, l->a, &reply, is_scheduler ? "kube-scheduler" : controllers_table[l->res].manager);
        c.user = is_scheduler ? STR("system:kube-scheduler") : str_from(controllers_table[l->res].user);
        if (!count_up(&c, e, str_from(known->name))) {
                struct str name = name_of(l, e);

                write_aim(&c, (struct str){ 0 }, STR("events"), namespace_of(e), name);
                if (write_make(&c, new_event(l, &c, e, name)) == 0)
                        snprintf(known->name, sizeof known->name, "%s", name.p);
        }
        call_end(&c);
}

static void forget_if_many(struct recorder *r) {
        if (map_count(r->events) + map_count(r->groups) + map_count(r->objects) < REMEMBERED_MAX)
                return;
        maps_free(r);
        maps_new(r);
}

static void record(struct look *l, struct record *e) {
        struct recorder *r = l->ctl->recorder;
        struct str uid = meta_text(e->about, "uid");
        struct str object = arena_strf(l->a, "%s/%.*s", e->component, STR_FMT(uid));
        struct str group =
                arena_strf(l->a, "%.*s/%.*s/%s/%s", STR_FMT(object), STR_FMT(e->field_path), e->type, e->reason);
        struct str key = arena_strf(l->a, "%.*s/%.*s", STR_FMT(group), STR_FMT(e->message));
        int64_t now = look_wall_ms(l);

        forget_if_many(r);
        if (is_one_too_many(r, group, map_find(r->events, key), now)) {
                e->message = arena_strf(l->a, COMBINED "%.*s", STR_FMT(e->message));
                key = group;
        }
        if (take_token(r, object, now))
                write_event(l, e, remember(r->events, key));
}

/* ---- the callers' words ---- */

/* The rest of what is too long is cut off, between characters. */
static struct str text_of(struct arena *a, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
static struct str text_of(struct arena *a, const char *fmt, va_list ap) {
        _cleanup_(buf_done) struct buf b = buf_make(64 * 1024);

        buf_vaddf(&b, fmt, ap);
        size_t n = b.n < MESSAGE_MAX_BYTES ? b.n : MESSAGE_MAX_BYTES;
        while (n < b.n && n > 0 && ((unsigned char)b.p[n] & 0xc0) == 0x80)
                n--;
        return arena_str(a, str_sub(buf_str(&b), 0, n));
}

void look_event(struct look *l, const struct value *about, const char *type, const char *reason, const char *fmt, ...) {
        struct record e = {
                .about = about, .component = controllers_table[l->res].component, .type = type, .reason = reason
        };
        va_list ap;

        if (!l->ctl->recorder)
                return;
        va_start(ap, fmt);
        e.message = text_of(l->a, fmt, ap);
        va_end(ap);
        record(l, &e);
}

static const char *host_of(struct look *l, const struct value *pod) {
        return arena_str(l->a, value_text(value_path(pod, "spec", "nodeName", NULL))).p;
}

void look_container_event(struct look *l, const struct value *pod, struct str field_path, const char *type,
                          const char *reason, const char *fmt, ...) {
        struct record e = { .about = pod,
                            .component = "kubelet",
                            .host = host_of(l, pod),
                            .type = type,
                            .reason = reason,
                            .field_path = field_path };
        va_list ap;

        if (!l->ctl->recorder)
                return;
        va_start(ap, fmt);
        e.message = text_of(l->a, fmt, ap);
        va_end(ap);
        record(l, &e);
}

static void record_of_scheduler(struct look *l, const struct value *pod, const char *type, const char *reason,
                                struct str message) {
        struct record e = { .about = pod, .component = SCHEDULER, .type = type, .reason = reason, .message = message };

        if (l->ctl->recorder)
                record(l, &e);
}

void look_scheduled(struct look *l, const struct value *pod, struct str node) {
        record_of_scheduler(l, pod, NORMAL, "Scheduled",
                            arena_strf(l->a, "Successfully assigned %.*s/%.*s to %.*s",
                                       STR_FMT(meta_text(pod, "namespace")), STR_FMT(meta_text(pod, "name")),
                                       STR_FMT(node)));
}

void look_unscheduled(struct look *l, const struct value *pod, struct str why) {
        record_of_scheduler(l, pod, WARNING, "FailedScheduling", why);
}

/* ---- Pods of controllers ---- */

bool look_create_pod(struct look *l, const struct value *owner, const struct value *pod) {
        struct str name;

        if (look_create(l, RES_POD, pod, &name)) {
                look_event(l, owner, NORMAL, "SuccessfulCreate", "Created pod: %.*s", STR_FMT(name));
                return true;
        }
        look_event(l, owner, WARNING, "FailedCreate", "Error creating: %.*s", STR_FMT(look_why(l)));
        return false;
}

bool look_delete_pod(struct look *l, const struct value *owner, struct version *pod) {
        struct str name = arena_str(l->a, pod->name);

        if (!look_delete(l, RES_POD, pod, NULL))
                return false;
        look_event(l, owner, NORMAL, "SuccessfulDelete", "Deleted pod: %.*s", STR_FMT(name));
        return true;
}
