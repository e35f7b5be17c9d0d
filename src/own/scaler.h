/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who scales an object: HorizontalPodAutoscalers, KEDA ScaledObjects and others, found from the objects themselves.
 *
 * managedFields is extra evidence only. The server writes a `scale` entry when somebody writes /scale, but there is
 * none when nobody owned the path at that moment, none after a scale to 0, and a stale one after the scaler is gone. So
 * an HPA that exists (in the cluster or in Git) decides; without one, `kube-controller-manager`/scale is a leftover, a
 * person's tool is a manual scale, and any other manager is taken for a scaler we do not know, and named as inferred.
 *
 * The index is fed by the caller with whole scaler objects as they come and go; it copies what it needs.
 *
 * Thread rule: one thread at a time; reading from several is fine while nobody changes it.
 */
#ifndef TRUCE_OWN_SCALER_H
#define TRUCE_OWN_SCALER_H

#include "own/managed.h"

/* What is scaled. Versions do not matter: an HPA's apps/v1 and our apps/v1 meet by group and kind. */
struct scale_target {
        struct str group;
        struct str kind;
        struct str ns; /* empty for cluster-scoped */
        struct str name;
};

/* Where a scaler was seen. */
enum scaler_origin {
        SCALER_LIVE = 1,
        SCALER_DESIRED = 2,
};

struct scaler {
        struct str kind; /* "HorizontalPodAutoscaler" */
        struct str group;
        struct str ns;
        struct str name;
        struct scale_target target;
        struct str component;               /* which part of the target it scales; empty: the object itself */
        int64_t min_replicas, max_replicas; /* as its API defaults them; the latter -1: no limit */
        int64_t idle_replicas;              /* what it may scale to below its minimum; -1: nothing */
        bool paused;                        /* it exists, but leaves the number alone, or at one value */
        bool advises;                       /* it never writes: another scaler carries out what it says */
        bool stops_at_zero;                 /* it does nothing while the number is 0 */
        struct str owner_kind, owner_name;  /* its controller; empty: none */
        struct str hpa;                     /* the HorizontalPodAutoscaler that works for it; empty: none */
        unsigned origins;                   /* one enum scaler_origin */
        struct str file;                    /* where Git has it; empty: not known */
        uint32_t line;
        bool tracked; /* LIVE: this installation made it; when Git does not have it any more, it is about to go */
};

struct scaler_index;
struct scaler_index *scaler_index_new(void);
void scaler_index_free(struct scaler_index *ix);
DEFINE_CLEANUP(struct scaler_index *, scaler_index_free)

/* Is this a kind that names what it scales? The agent watches these where they are served. */
bool scaler_is_kind(struct str group, struct str kind);
/* The kinds above in a row, for discovery: false when `i` is past the last. */
bool scaler_kind_at(size_t i, const char **ret_group, const char **ret_kind);

/*
 * Notes a scaler object as seen in `origin`, replacing what that origin said of it before. INVAL when it is no scaler
 * kind or names no target; then an earlier note of that origin is forgotten.
 */
int scaler_index_set(struct scaler_index *ix, const struct value *object, enum scaler_origin origin, struct err *err);
/* The same with what the object does not say of itself; members as in struct scaler. */
struct scaler_sight {
        enum scaler_origin origin;
        struct str file;
        uint32_t line;
        bool tracked;
};
int scaler_index_see(struct scaler_index *ix, const struct value *object, const struct scaler_sight *sight,
                     struct err *err);
/* What one origin says of a scaler object; NULL: nothing. Borrowed until the index changes. */
const struct scaler *scaler_index_get(const struct scaler_index *ix, struct str group, struct str kind, struct str ns,
                                      struct str name, enum scaler_origin origin);
/* Forgets it for one origin. */
void scaler_index_remove(struct scaler_index *ix, struct str group, struct str kind, struct str ns, struct str name,
                         enum scaler_origin origin);
/* Forgets everything one origin said (before a fresh LIST, before a new revision's objects). */
void scaler_index_clear(struct scaler_index *ix, enum scaler_origin origin);
/*
 * Who scales a part of a target (component empty: the object itself), live ones before desired ones; NULL: nobody. An
 * HPA that works for another scaler of the same target (KEDA makes one for each ScaledObject) is that scaler, and one
 * that only advises is none. Borrowed until the index changes.
 */
const struct scaler *scaler_find(const struct scaler_index *ix, const struct scale_target *target);
const struct scaler *scaler_find_part(const struct scaler_index *ix, const struct scale_target *target,
                                      struct str component);
/* All of them, each once, the one of scaler_find_part() first. Returns how many, also beyond `max`. */
size_t scaler_find_all(const struct scaler_index *ix, const struct scale_target *target, struct str component,
                       const struct scaler **ret, size_t max);
/* One that advises the scaler of the target (llm-d's VariantAutoscaling); NULL: none. */
const struct scaler *scaler_find_adviser(const struct scaler_index *ix, const struct scale_target *target);

/* The target an object is: group and kind from apiVersion and kind, namespace and name from metadata. Borrowed. */
struct scale_target scale_target_of(const struct value *object);

/*
 * Where the number of replicas stands in this kind: built-in table, else the CRD's scale subresource of that version
 * (`crd` may be NULL). False when the kind cannot be scaled. The path's bytes live in the arena.
 */
bool scaler_replicas_path(struct str api_version, struct str kind, const struct value *crd, struct arena *a,
                          struct field_path *ret_path);

enum scale_verdict {
        SCALE_NONE,     /* nobody scales it */
        SCALE_SCALER,   /* a scaler object targets it: yield */
        SCALE_INFERRED, /* an unknown manager wrote /scale: yield, and say it is inferred */
        SCALE_MANUAL,   /* a person's tool wrote /scale: not a scaler */
        SCALE_STALE,    /* an autoscaler's program wrote /scale, but its object exists no more: not a scaler */
        SCALE_DECLARED, /* the object itself says that this part is scaled from outside: yield */
};

struct scale_state {
        enum scale_verdict verdict;
        const struct scaler *scaler;  /* SCALE_SCALER */
        const struct scaler *adviser; /* of that one; may be NULL */
        struct str manager;           /* INFERRED, MANUAL, STALE: who wrote /scale; DECLARED: the field that says so */
};

/* Judges the object itself. `ix` and `m` may be NULL. */
struct scale_state scaler_judge(const struct scaler_index *ix, const struct scale_target *target,
                                struct field_path replicas, const struct managed *m);
/* Is the path left to somebody under this verdict? */
bool scale_state_yields(const struct scale_state *s);
/* For people: `HorizontalPodAutoscaler shop/web`, `keda-operator (inferred from its write to /scale)`. */
void scale_state_print(const struct scale_state *s, struct buf *out);

/* One number of replicas in an object, and who sets it. */
struct scale_path {
        struct field_path path;
        struct scale_state state;
        struct str component; /* empty: the object itself */
};

struct scale_subject {
        const struct value *desired;   /* parts of both count */
        const struct value *live;      /* may be NULL */
        const struct value *crd;       /* may be NULL */
        const struct schema *type;     /* may be NULL */
        const struct managed *managed; /* of live; may be NULL */
};

/*
 * All of them: the object's own number first, if it has one, then those of its parts (services of a Dynamo graph, roles
 * of a DisaggregatedSet). `ix` may be NULL. Returns how many; in the arena.
 */
size_t scaler_paths(const struct scaler_index *ix, const struct scale_subject *s, struct arena *a,
                    const struct scale_path **ret);

/*
 * Fields that a kind refuses at creation and takes afterwards (Dynamo's restart id): the i-th path, false when there
 * are no more.
 */
bool scaler_omits_on_create(struct str group, struct str kind, size_t i, struct arena *a, struct field_path *ret_path);

/*
 * The number of replicas a new object gets: Git's when it is at least 1, else the scaler's minimum, else 1 (an HPA does
 * not act on an object with 0).
 */
int64_t scaler_seed(const struct scaler *s, const struct value *git_replicas);

#endif
