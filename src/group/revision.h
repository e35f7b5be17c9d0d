/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A revision of a LeaderWorkerSet: everything that a group is built from. Whoever changes it asks for new groups. A
 * group is built wholly from one revision, also when it comes back while a newer one rolls out.
 *
 * The **payload** is its canonical form: `{"spec": {"leaderWorkerTemplate": …, "networkConfig": …}}`, the shape that
 * upstream keeps in the data of its ControllerRevisions. Two payloads are equal when no pod could tell them apart:
 *
 *  - fields of the leaderWorkerTemplate itself are written out with their defaults, and `Default` as what it means;
 *  - null, empty lists, and maps that mean nothing when they are empty (`labels`, `resources` …) are left out, as are
 *    creationTimestamp and the status of a claim template;
 *  - quantities that are numbers become text, and what a full schema would add by itself (`protocol: TCP`) goes.
 *
 * Leader, worker and claims of a template are parts of its payload, so that a group is the same whether it is built
 * from the object or from the stored revision.
 *
 * The hash (SipHash-2-4-128 of the canonical text) of an object that stays the same never changes, whatever the version
 * of truce: a field that truce learns later is in the payload only when it is set (tests/cases/group/revision).
 */
#ifndef TRUCE_GROUP_REVISION_H
#define TRUCE_GROUP_REVISION_H

#include "base/value.h"
#include "group/problem.h"

enum group_restart {
        GROUP_RESTART_ON_POD_RESTART, /* RecreateGroupOnPodRestart */
        GROUP_RESTART_AFTER_START,    /* RecreateGroupAfterStart */
        GROUP_RESTART_NONE,           /* None, and the old Default */
};
enum group_subdomain { GROUP_SUBDOMAIN_SHARED, GROUP_SUBDOMAIN_UNIQUE };
enum group_subgroups { GROUP_SUBGROUPS_NONE, GROUP_SUBGROUPS_LEADER_WORKER, GROUP_SUBGROUPS_LEADER_EXCLUDED };

#define GROUP_MAX_CLAIMS 256 /* of a pod: no node attaches as many volumes */
#define GROUP_HASH_BYTES 10  /* hex digits of a revision's hash as it is computed */

struct group_template {
        int32_t size;               /* pods of a group, the leader among them; 1 or more */
        const struct value *leader; /* PodTemplateSpec; the worker's where there is none of its own */
        const struct value *worker; /* PodTemplateSpec */
        enum group_restart restart;
        enum group_subgroups subgroups;
        int32_t subgroup_size; /* 0: no subgroups */
        enum group_subdomain subdomain;
        const struct value *claims; /* volumeClaimTemplates, not empty; NULL: none */
        bool delete_claims_when_deleted, delete_claims_when_scaled;
        const struct value *payload; /* what the data of the ControllerRevision is */
        struct str hash;             /* of the payload: the label template-revision-hash */
};

/*
 * Reads networkConfig and leaderWorkerTemplate out of `spec`: that of a LeaderWorkerSet, or of a payload. Problems are
 * appended with paths that begin in "spec."; those of single values only: what must fit together is group/spec.h's
 * matter. 0, or INVAL when there was one; *ret_template is filled either way, with defaults for what could not be read
 * (worker may then be an empty map). Nothing of it borrows from `spec`.
 */
int group_template_read(const struct value *spec, struct arena *a, struct group_template *ret_template,
                        struct group_problems *problems);

/* Would both build the same groups? Hashes need not be equal for that: an older truce may have made one of them. */
bool group_template_equal(const struct group_template *a, const struct group_template *b);

/*
 * The template that a ControllerRevision stores in `data`, with the hash of its label template-revision-hash: that is
 * what its pods carry, even where this truce would compute another one. Without the label the hash is computed. What
 * upstream writes beside the fields ("$patch") is passed over. PARSE when there is no template, or one with fields
 * that are not known here (a newer truce's): the message says where.
 */
int group_revision_read(const struct value *controller_revision, struct arena *a, struct group_template *ret_template,
                        struct err *err);

#endif
