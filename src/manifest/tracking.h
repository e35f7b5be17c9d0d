/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose is an object? Marks that we put on what we apply, and marks of others that we read on live objects.
 *
 * Ours, on every object (CRDs too: Argo CD leaves them unmarked, but our watches select by label):
 *  - annotation argocd.argoproj.io/tracking-id: "<app>:<group>/<Kind>:<namespace>/<name>", Argo CD's format: for an
 *    object without a namespace the application's destination namespace stands in the id;
 *  - label truce.dev/installation: the id of the installation.
 * Git's own values of these two keys are replaced.
 *
 * The annotation names the owner; the label tells installations (and Argo CD) apart and is what watches select by. A
 * tracking id that does not describe the object that carries it was copied by some controller and means nothing; so does
 * our label alone (EndpointSlices copy the labels of their Service). Another installation's label alone still refuses: it
 * is the careful reading.
 *
 * A person may remove a mark. Ask the inventory first: an object with the uid we know is ours whatever it carries; this
 * module is for objects that the inventory does not know, and for the name in a refusal.
 *
 * Thread rule: pure.
 */
#ifndef TRUCE_MANIFEST_TRACKING_H
#define TRUCE_MANIFEST_TRACKING_H

#include "base/value.h"

#define TRACKING_ANNOTATION "argocd.argoproj.io/tracking-id"
#define TRACKING_ARGOCD_INSTALLATION "argocd.argoproj.io/installation-id"
#define TRACKING_LABEL "truce.dev/installation"

/* Who we are. */
struct tracking {
        struct str installation;          /* a legal label value */
        struct str app;                   /* "<app>" or "<namespace>_<app>": config_app's `instance` */
        struct str destination_namespace; /* may be empty */
};

/* A tracking id's parts, borrowed. */
struct tracking_id {
        struct str app, group, kind, ns, name;
};

/* False when the text has not the form. Names may hold ":" (RBAC), application names may not. */
bool tracking_id_split(struct str text, struct tracking_id *ret_id);

/* The id for an object; ns empty gives the destination namespace. In the arena. */
struct str tracking_id_make(const struct tracking *t, struct str group, struct str kind, struct str ns, struct str name,
                            struct arena *a);

/* `object` with both marks set. */
const struct value *tracking_mark(const struct tracking *t, const struct value *object, struct arena *a);

enum tracker_kind {
        TRACKER_NONE,               /* nobody's, as far as marks tell: may be adopted */
        TRACKER_OURS,               /* this application of this installation */
        TRACKER_OUR_OTHER_APP,      /* another application of this installation */
        TRACKER_OTHER_INSTALLATION, /* another truce */
        TRACKER_ARGOCD,
        TRACKER_OTHER_TOOL,         /* Flux, Helm, kapp … */
};

struct tracker {
        enum tracker_kind kind;
        bool same_app;     /* ARGOCD or OTHER_INSTALLATION: its application is called as ours (a migration, perhaps) */
        struct str app;    /* its application, empty for OTHER_TOOL */
        struct str owner;  /* for a person: `Argo CD application "shop"`; empty for NONE and OURS */
        /* ARGOCD and OTHER_TOOL: the mark, and what it names. */
        const char *tool;  /* "Argo CD application", "Flux Kustomization", "Helm release" … */
        struct str name, ns; /* of that; either may be empty */
        const char *mark, *ns_mark; /* keys of the labels or annotations; ns_mark may be NULL */
        bool mark_is_label;
        const struct tracker *next; /* ARGOCD and OTHER_TOOL: one more that the object is marked by; NULL: none */
};

/*
 * Reads the marks of a live object (apiVersion, kind and metadata are all it needs). `desired` is Git's side or NULL: a
 * mark of another tool that Git itself states is no evidence. Text, and what `next` names, is in the arena.
 */
void tracking_read(const struct tracking *t, const struct value *live, const struct value *desired, struct arena *a,
                   struct tracker *ret_tracker);

#endif
