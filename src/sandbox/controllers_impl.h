/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What controllers share: the resources they know, one look at one object, ways to write, and small makers of values.
 *
 * A controller's function reads the live state, writes, and returns false when a write was refused and should be tried
 * again. It need not remember anything: its own writes wake it again.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_CONTROLLERS_IMPL_H
#define TRUCE_SANDBOX_CONTROLLERS_IMPL_H

#include "base/map.h"
#include "sandbox/controllers.h"
#include "sandbox/write.h"

#define SECOND_MS INT64_C(1000)

enum res {
        RES_POD,
        RES_REPLICASET,
        RES_REPLICATIONCONTROLLER,
        RES_DEPLOYMENT,
        RES_STATEFULSET,
        RES_DAEMONSET,
        RES_JOB,
        RES_CRONJOB,
        RES_AUTOSCALER,
        RES_REVISION,
        RES_CLAIM,
        RES_VOLUME, /* of no namespace, as all that follow */
        RES_NODE,
        RES_COUNT,
};

struct look;

struct controller {
        const char *group, *plural, *api_version, *kind;
        const char *manager, *user, *component;            /* who writes, and whom Events name */
        bool (*run)(struct look *l, struct version *live); /* NULL: only written, never looked at */
};
extern const struct controller controllers_table[RES_COUNT];

struct controllers {
        struct sandbox *s;
        struct map *queue;         /* "res/namespace/name" → struct work */
        struct map *clocks;        /* uid of a Pod → struct pod_clock */
        struct map *lost;          /* names of Nodes that are gone with all that ran there; no values */
        bool may_place;            /* since Pods that wait for a Node were looked at there may be room for one */
        struct map *scalers;       /* autoscaler's uid → struct scaler */
        size_t orphans[RES_COUNT]; /* objects without controlling owner, of Pods and ReplicaSets */
        uint32_t addresses;        /* Pod addresses given out */
        struct recorder *recorder; /* NULL: no Events */
};

/* One look at one object. */
struct look {
        struct controllers *ctl;
        struct call *c;
        struct arena *a;
        enum res res;
        struct str namespace, name;
        struct version **held; /* versions kept alive until the look is over */
        size_t held_count, held_cap;
};

/* Keeps a version alive; NULL stays NULL. */
struct version *look_hold(struct look *l, struct version *v);
/* Looks at the object of this look again, `delay_ms` from now at the latest. */
void look_again(struct look *l, int64_t delay_ms);
void controllers_wake(struct controllers *ctl, enum res res, struct str namespace, struct str name, int64_t delay_ms);
int64_t look_wall_ms(const struct look *l);

/* --- reading --- */

struct version *look_find(struct look *l, enum res res, struct str name);
/* Objects of a resource whose controlling owner is `uid`, by name, held; an array in the arena. */
size_t look_owned(struct look *l, enum res res, struct str uid, struct version ***ret);
/*
 * The same, after objects nobody controls that `selector` matches were adopted by `owner` and those it does not match
 * were released.
 */
size_t look_claim(struct look *l, enum res res, const struct version *owner, const struct value *selector,
                  struct version ***ret);

/* --- writing; false: refused, look_why() --- */

/* Creates below `l->namespace`; *ret_name (may be NULL) is the name it got. */
bool look_create(struct look *l, enum res res, const struct value *object, struct str *ret_name);
/* Updates and gives the new version, held (NULL when it is gone). */
bool look_update(struct look *l, enum res res, struct version *v, const struct value *object, const char *subresource,
                 struct version **ret);
bool look_status(struct look *l, struct version *v, const struct value *status);
bool look_delete(struct look *l, enum res res, struct version *v, const struct delete_options *o);
/* The message of the last refusal. */
struct str look_why(struct look *l);

/* --- Events, of the object that is looked at; none without a recorder --- */

#define NORMAL  "Normal"
#define WARNING "Warning"

struct recorder;
struct recorder *recorder_new(void);
void recorder_free(struct recorder *r);

void look_event(struct look *l, const struct value *about, const char *type, const char *reason, const char *fmt, ...)
        PRINTF_LIKE(5, 6);
/* The kubelet's, of one container: `field_path` is "spec.containers{web}". */
void look_container_event(struct look *l, const struct value *pod, struct str field_path, const char *type,
                          const char *reason, const char *fmt, ...) PRINTF_LIKE(6, 7);
/* The scheduler's, of a Pod: it got a Node, or there is none. */
void look_scheduled(struct look *l, const struct value *pod, struct str node);
void look_unscheduled(struct look *l, const struct value *pod, struct str why);

/*
 * A Pod of `owner`, the object that is looked at, as most controllers create and delete them, with their Events. After
 * a refusal look_why() tells.
 */
bool look_create_pod(struct look *l, const struct value *owner, const struct value *pod);
bool look_delete_pod(struct look *l, const struct value *owner, struct version *pod);

/* --- values --- */

/* {"key": value, …} of pairs up to a NULL key; pairs whose value is NULL are left out. */
const struct value *make_map(struct arena *a, ...) __attribute__((sentinel));
const struct value *make_list(struct arena *a, const struct value *item);
const struct value *make_text(struct arena *a, const char *text);
const struct value *make_textf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
const struct value *make_str(struct arena *a, struct str s);
const struct value *make_int(struct arena *a, int64_t n);
/* A copy with the value at two keys set. */
const struct value *with2(struct arena *a, const struct value *v, const char *first, const char *second,
                          const struct value *value);
/* {"metadata":{"labels":{"k":"v"}}} and the like. */
const struct value *with_meta_pair(struct arena *a, const struct value *object, const char *field, struct str key,
                                   const struct value *value);
int64_t int_or(const struct value *v, int64_t otherwise);
/* An IntOrString of `total`, percentages rounded up or down. */
int64_t share_of(const struct value *v, int64_t total, bool up);
struct str annotation(const struct value *object, const char *name);
bool is_deleting(const struct value *object);
const struct value *controller_of(const struct value *object);
const struct value *owner_reference(struct arena *a, enum res res, const struct value *owner);
/* A Pod of a template: metadata and spec; `prefix` is its generateName. */
const struct value *pod_of_template(struct arena *a, const struct value *template, const struct value *owner_ref,
                                    struct str prefix);
/* What the server's names look like: the template's hash in its alphabet. `salt`: collisionCount or so. */
struct str template_hash(struct arena *a, const struct value *template, int64_t salt);
/* Unix ms of an RFC 3339 time in whole seconds; 0 when it is none. */
int64_t time_ms(const struct value *time);
const struct value *items_with(struct arena *a, const struct value *list, const struct value *item);

/* --- conditions --- */

const struct value *condition_find(const struct value *conditions, const char *type);
bool condition_is(const struct value *conditions, const char *type, const char *status);
const struct value *condition_without(struct arena *a, const struct value *conditions, const char *type);

/* --- Pods --- */

bool pod_is_ready(const struct value *pod);
bool pod_is_ended(const struct value *pod); /* Succeeded or Failed */
/* Ready for `min_ready_s`; otherwise *ret_wait_ms (0: not ready) says how long it takes. */
bool pod_is_available(struct look *l, const struct value *pod, int64_t min_ready_s, int64_t *ret_wait_ms);

/* Makes the Nodes that a sandbox begins with. */
void nodes_make(struct call *c);
/* A Node came, changed or went: what lives there, and what waits for one, is looked at. */
void node_note(struct controllers *ctl, const struct version *before, const struct version *after);
/* The same of a Pod, for those that wait for the room that it leaves. */
void place_note(struct controllers *ctl, const struct version *before, const struct version *after);
/* A Pod that was loaded keeps its address. */
void pod_note_address(struct controllers *ctl, const struct value *pod);

/* --- controllers --- */

bool pod_run(struct look *l, struct version *live);
bool node_run(struct look *l, struct version *live);
bool replicaset_run(struct look *l, struct version *live);
bool deployment_run(struct look *l, struct version *live);
bool statefulset_run(struct look *l, struct version *live);
bool daemonset_run(struct look *l, struct version *live);
bool job_run(struct look *l, struct version *live);
bool cronjob_run(struct look *l, struct version *live);
bool autoscaler_run(struct look *l, struct version *live);
bool claim_run(struct look *l, struct version *live);
bool volume_run(struct look *l, struct version *live);

void scaler_free(void *p);

#endif
