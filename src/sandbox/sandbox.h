/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct sandbox: a Kubernetes API in memory. One thing with two faces: in process as a kube_transport
 * (sandbox_transport, deterministic, for tests in virtual time) and over HTTP on loopback (sandbox/http.h, for people).
 *
 * It is no cluster: no containers run, no network, no RBAC, no webhooks, no CEL. docs/testing.md lists the differences.
 *
 * Requests are answered by one synchronous function, sandbox_serve(): state changes at once, in the order of the calls.
 * What takes time on a cluster (controllers, pods, garbage collection, namespaces' ends) runs on the loop's timers.
 * All choices (uids, generated names, delays) come from the loop's random source, so a seed repeats a run.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_SANDBOX_H
#define TRUCE_SANDBOX_SANDBOX_H

#include "base/loop.h"
#include "base/value.h"
#include "kube/transport.h"

struct sandbox;

/* Nodes of a size, node-1, node-2 …, of which each takes what fits. `count` 0: one that takes everything. */
struct sandbox_nodes {
        unsigned count;
        unsigned zones;         /* in turn in zone-1, zone-2 …; 0: in none */
        struct str cpu, memory; /* quantities, borrowed as long as the sandbox lives; empty: 1000 and 4Ti */
        unsigned gpu;           /* nvidia.com/gpu */
};

struct sandbox_options {
        bool no_controllers;     /* a bare API: no Deployments' pods, no HPA, no garbage collection */
        bool keep_namespaces;    /* deleted ones stay Terminating: their controller is missing as well */
        bool events;             /* controllers write Events; without, a run in virtual time is cheaper */
        int64_t pod_ready_ms;    /* from creation to Ready; 0: 200 */
        unsigned history_events; /* watch events kept before 410; 0: 10000 */
        unsigned max_pods;       /* that controllers make, whatever the replicas say; 0: 10000 */
        struct sandbox_nodes nodes;
};

struct sandbox *sandbox_new(struct loop *l, const struct sandbox_options *options);
void sandbox_free(struct sandbox *s);
DEFINE_CLEANUP(struct sandbox *, sandbox_free)
struct loop *sandbox_loop(const struct sandbox *s);

/* --- requests --- */

struct sandbox_request {
        enum kube_method method;
        struct str path; /* encoded, with query */
        struct str content_type, accept, user_agent;
        struct str body;
        struct str user;
        const struct str *groups; /* user's; system:authenticated is added */
        size_t group_count;
};

struct sandbox_watch;

struct sandbox_reply {
        int status;
        struct str content_type;
        struct str body; /* in the arena given */
        const struct str *warnings;
        size_t warning_count;
        int64_t retry_after_s;
        struct sandbox_watch *watch; /* not NULL: a stream follows; the caller owns it */
};

/* Answers one request. Never fails: errors are Status bodies. Strings of the reply live in `a`. */
void sandbox_serve(struct sandbox *s, const struct sandbox_request *req, struct arena *a, struct sandbox_reply *ret);

/*
 * Begins a stream: what is due already is handed out inside this call, later events as they are committed. `line` gets
 * one JSON document with its newline, borrowed; `end` comes once, after timeoutSeconds or an ERROR event, never after
 * sandbox_watch_close(). Callbacks run inside whatever changed the store: append and post, nothing else.
 */
struct sandbox_watcher {
        void (*line)(void *ctx, struct str line);
        void (*end)(void *ctx);
};
void sandbox_watch_start(struct sandbox_watch *w, const struct sandbox_watcher *watcher, void *ctx);
void sandbox_watch_close(struct sandbox_watch *w);

/* --- looking on and interfering --- */

/* One committed write. `before` NULL: created; `after` NULL: gone. Borrowed during the call. */
struct sandbox_commit {
        const struct sandbox_request *request; /* NULL: a controller's own */
        struct str user, manager;
        struct str group, kind, namespace, name, subresource;
        const struct value *before, *after;
        uint64_t resource_version;
};
/* Called for each write inside the request that made it. More than one observer may look on. */
void sandbox_observe(struct sandbox *s, void (*fn)(void *ctx, const struct sandbox_commit *c), void *ctx);

/*
 * Admission rules, so that webhooks and policies can be acted out: a document
 *   rules:
 *   - {name: require-owner, match: {kinds: [Deployment], operations: [CREATE, UPDATE], namespaces: [shop]},
 *      unlessSet: /metadata/labels/owner, deny: "missing label owner"}
 *   - {name: sidecar, match: {kinds: [Pod]}, patch: [{op: add, path: /spec/containers/-, value: {…}}]}
 * Rules run in order, patches before denials. Replaces the rules that were there. INVAL names the rule and the key.
 */
int sandbox_set_rules(struct sandbox *s, const struct value *document, struct err *err);

/*
 * All objects with their resourceVersions, as they are now. Taking it costs a reference an object, and what is replaced
 * meanwhile stays in memory until it is freed. Writing is what takes long: it looks at nothing that changes, so it may
 * be done on another thread. The file is replaced whole (write, fsync, rename), so whenever the process ends the old or
 * the new one is there. LIMIT for more than JSON_MAX_BYTES, a system error's code. Free on the loop's thread, before
 * sandbox_free().
 */
struct sandbox_snapshot;
struct sandbox_snapshot *sandbox_snapshot_take(struct sandbox *s);
int sandbox_snapshot_write(const struct sandbox_snapshot *n, const char *path, struct err *err);
void sandbox_snapshot_free(struct sandbox_snapshot *n);
DEFINE_CLEANUP(struct sandbox_snapshot *, sandbox_snapshot_free)
/* The three at once. */
int sandbox_save(struct sandbox *s, const char *path, struct err *err);

/*
 * The reverse, into an empty sandbox. All or nothing: CORRUPT names what cannot be read, INVAL what is no file,
 * UNSUPPORTED a format of another version; then the sandbox is as it was.
 */
int sandbox_load(struct sandbox *s, const char *path, struct err *err);

/*
 * Objects of another cluster as they were there (`kubectl get … -o yaml --show-managed-fields`), into a sandbox that
 * holds only what it was made with: uid, resourceVersion, times, generation, managedFields, status, owners and what is
 * being deleted are kept, and nothing is owned by the sandbox. Definitions come first, Namespaces that are missing are
 * made; what has no uid, creationTimestamp or resourceVersion gets one. Unknown fields are left out, and told.
 *
 * All or nothing: INVAL names file, line and object of what is of no known kind, is there twice, or would not be taken
 * by the API server (of a Secret without the reason, which would hold its values); then nothing of it is there. Lines
 * are those of the values. Controllers, when there are any, take it up as if it had just been written; what is being
 * deleted stays until somebody writes it again.
 */
struct sandbox_dumped {
        const struct value *object;
        struct str file;
};
/* What is to be told of what was taken, a sentence each. */
struct sandbox_noter {
        void (*note)(void *ctx, struct str text);
        void *ctx;
};
int sandbox_load_dump(struct sandbox *s, const struct sandbox_dumped *objects, size_t count,
                      const struct sandbox_noter *noter, struct err *err);

/*
 * A forced server-side apply of an object as manager truce-sandbox, into namespace "default" when it needs one and
 * names none. NOTFOUND when its kind is not served (yet); INVAL and DENIED with the server's message.
 */
int sandbox_add(struct sandbox *s, const struct value *object, struct err *err);

/* Forgets history up to now: watches from before get 410, lists with old continue tokens too. */
void sandbox_compact(struct sandbox *s);
/* Ends all watches, as a restart of the server does. */
void sandbox_drop_watches(struct sandbox *s);

/* The stored object, borrowed until the next turn of the loop, or NULL. */
const struct value *sandbox_get(struct sandbox *s, struct str group, struct str plural, struct str namespace,
                                struct str name);
/* All objects of a resource in name order, in the arena. */
size_t sandbox_list(struct sandbox *s, struct str group, struct str plural, struct arena *a,
                    const struct value *const **ret_objects);

/* --- the in-process face --- */

/* What happens to one request on its way; zero: nothing but `delay_ms`. */
struct sandbox_fault {
        int64_t delay_ms;       /* before it reaches the server */
        int64_t reply_delay_ms; /* before its answer reaches the client */
        bool lose_request;      /* the connection breaks before the server saw it */
        bool lose_reply;        /* the write is committed, the answer is lost */
        int status;             /* not 0: answered with this instead (429, 500, 503 …), nothing is done */
        int64_t retry_after_s;
};
typedef struct sandbox_fault (*sandbox_fault_fn)(void *ctx, const struct sandbox_request *req, bool is_watch);

/*
 * A transport that talks to this sandbox as `user` with `groups` (comma-separated). Answers come in later turns; watch
 * lines are chunked. kube_transport_free() before sandbox_free(). Deadlines, silence and size caps of requests hold as
 * in the real transport.
 */
struct kube_transport *sandbox_transport(struct sandbox *s, struct str user, struct str groups);
/* The same for a caller on a loop of its own, in this thread: a process of virtual time that may stand still alone. */
struct kube_transport *sandbox_transport_on(struct sandbox *s, struct loop *l, struct str user, struct str groups);
/* NULL: none. */
void sandbox_transport_set_fault(struct kube_transport *t, sandbox_fault_fn fn, void *ctx);

#endif
