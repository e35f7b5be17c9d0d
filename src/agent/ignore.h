/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ignore rules of a configuration, for one object: which of them speak of it, what their jq programs find in it, and
 * what comes of that (diff/ignore.h, and rules of ownership for trusted managers).
 *
 *   s = ignore_begin(&object, arena);
 *   if (ignore_asks(s)) ignore_ask(s, engine, done, ctx);   … done() … ignore_answer(s)
 *
 * A program that fails on an object finds nothing there, as in Argo CD: `.spec.ports[]` where there is no such list. One
 * that cannot be evaluated at all is an error: what it would have ignored must not be written over.
 *
 * Annotations of Git's object add to them, and can only make truce do less:
 *
 *   truce.dev/ignore: .spec.replicas, .spec.template.spec.containers[name="proxy"]     what may differ, one a line or with commas
 *   truce.dev/ignore-managers: istiod, region-operator                                 whose fields are theirs, likewise
 *
 * Thread rule: loop thread. A search lives in its arena, and borrows from the object until it is answered.
 */
#ifndef TRUCE_AGENT_IGNORE_H
#define TRUCE_AGENT_IGNORE_H

#include "agent/config.h"
#include "agent/jq.h"
#include "own/tolerate.h"

struct ignore_object {
        const struct config_app *app;
        struct str group, kind, ns, name;
        struct str place; /* in Git, "deploy/web.yaml:3" */
        bool secret;
        const struct value *desired;
        const struct value *live; /* NULL: it does not exist */
        const struct schema *type;
};

struct ignore_answer {
        const struct ignored_path *paths;
        size_t count;
        struct policy policy;     /* the application's, and what is to be left to trusted managers */
        const size_t *rules;      /* that speak of the object, as indexes of app->ignores */
        size_t rule_count;
        const size_t *found;      /* of each of them, how many paths */
        const char *const *advice; /* of each of them: what it does that is hardly meant; NULL: nothing */
};

struct ignore_search;

#define IGNORE_ANNOTATION "truce.dev/ignore"
#define IGNORE_MANAGERS_ANNOTATION "truce.dev/ignore-managers"

/*
 * Can the annotations of an object in Git be read? Else INVAL or LIMIT, and *ret_key is the one that cannot: the object is to
 * be refused, for what it was to leave alone is not known.
 */
int ignore_check_annotations(const struct value *object, const char **ret_key, struct err *err);

/* Has the object one of them? */
bool ignore_is_annotated(const struct value *object);

struct ignore_search *ignore_begin(const struct ignore_object *o, struct arena *a);
/* Are there programs to be evaluated? */
bool ignore_asks(const struct ignore_search *s);
/* err NULL: all is known. Called once, in a later turn. */
void ignore_ask(struct ignore_search *s, struct jq_engine *e, void (*done)(void *ctx, const struct err *err), void *ctx);
/* Of a search that still asks; NULL is accepted. done() is not called. */
void ignore_cancel(struct ignore_search *s);
struct ignore_answer ignore_answer(struct ignore_search *s);

/* Truce's marks on an object (manifest/tracking.h): without them it would be nobody's, so no rule is about them. */
#define IGNORE_MARKS 2
const struct field_path *ignore_marks(void);

/* Does the rule speak of objects of this name, of this application? Whether it gathers roles is not looked at. */
bool ignore_selects(const struct config_ignore *rule, const struct policy_object *o);

#endif
