/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's configuration: Argo CD's own documents (Application, AppProject, repository Secrets, its ConfigMaps) and one
 * of ours (kind Agent, apiVersion truce.dev/v1alpha1), from files and folders, and as texts from wherever else
 * (agent/config_cluster.h: objects of the cluster); or the same made from flags.
 *
 * Each key of a document is one of four (design §2), by tables in config_*.c:
 *  - used;
 *  - irrelevant here: all together make one notice;
 *  - known, changes what a sync does, not implemented yet: that Application is refused with file:line, the rest runs;
 *  - unknown: an error with file:line and the nearest known key. Any error means that nothing of it is used.
 * Never silently ignored. Content of Secrets never gets into a message.
 *
 * Semantics are Argo CD's where it has them: targetRevision HEAD, path ".", retries after 5 s, 10 s … 3 min (without
 * end unless a limit is set: after an outage nobody should have to push a commit); without
 * syncPolicy.automated an application is only watched and reported (detect-only).
 *
 * The poll interval is 30 s by default (Argo CD: 120–180 s): a poll is one listing of refs per repository, shared by all
 * its applications, and fetches nothing when nothing moved.
 *
 * Thread rule: built on one thread, then immutable and readable from any. All text lives in the config.
 */
#ifndef TRUCE_AGENT_CONFIG_H
#define TRUCE_AGENT_CONFIG_H

#include "base/option.h"
#include "base/pointer.h"
#include "diff/mask.h"
#include "health/rules.h"
#include "kube/client.h"
#include "manifest/protect.h"
#include "own/policy.h"
#include "own/respell.h"

#define CONFIG_MAX_FILES 10000
#define CONFIG_MAX_APPS 5000
#define CONFIG_SETTINGS "argocd-cm" /* the ConfigMaps of Argo CD that are read */
#define CONFIG_TLS_CERTS "argocd-tls-certs-cm"
#define CONFIG_KNOWN_HOSTS "argocd-ssh-known-hosts-cm"
#define CONFIG_MAX_SOURCES 32 /* of one application */
#define CONFIG_MAX_RULES 1000 /* of one list of ownership rules, of ignore rules, or of what one of these holds */

/* Where something was configured. */
struct config_place {
        struct str file; /* empty for flags; "Application argocd/shop" for what the cluster has */
        uint32_t line;   /* 0 where there are none */
};

/* "file:line", or "file" where there are no lines. */
struct str config_place_text(struct config_place place, struct arena *a);

struct config_retry {
        int64_t limit;      /* retries after the first attempt; -1: endless */
        int64_t first_ms;
        int64_t factor;
        int64_t max_ms;
};

/*
 * An AppProject: limits of what its applications may hold. Lists as in manifest_protection: NULL rules are "no limit".
 */
struct config_project {
        struct str name;
        struct config_place place;
        struct str refusal;                 /* why its applications cannot be run; empty: they can */
        struct config_place refusal_place;
        struct manifest_rules source_repos; /* only `name` is set: globs of repository URLs, "!" in front negates */
        struct manifest_rules cluster_allow, cluster_deny;
        struct manifest_rules namespaced_allow, namespaced_deny;
        struct manifest_rules destinations; /* only `ns` is set */
};

/* Credentials for a repository, or for all whose URL begins so; none of it is ever printed but url and project. */
struct config_repository {
        struct str url;
        bool is_template;          /* repo-creds */
        struct str project;        /* for its applications alone; empty: for all */
        struct str username, password, bearer_token;
        struct str certificate, key; /* of the client, PEM; both or none */
        bool force_basic;          /* password before bearer_token */
        bool insecure;             /* the server's certificate is not checked */
        bool no_proxy;             /* it names a proxy that does not count for its host */
        struct config_place place;
        struct str refusal;        /* why it cannot be used, nor what needs it; empty: it can */
        struct config_place refusal_place;
};

/* The authorities that a Git server's certificate may come from, PEM, in place of all others. */
struct config_ca {
        struct str host;
        struct str pem;
        struct config_place place;
};

/*
 * Ownership rules (own/policy.h), from `spec.ownership.rules` of the Agent document and from the annotation
 * `truce.dev/ownership` of an Application document; never from a repository that is synced. Each has a place, and is
 * called by it when it has no name.
 */
struct config_rules {
        const struct policy_rule *rules;
        size_t count;
};

/* A jq program as the user wrote it; what it ignores is what `path(…)` of it gives. */
struct config_program {
        struct str text;
        const char *place; /* "argocd-cm.yaml:12" */
};

/*
 * One ignore rule: an element of an Application's `spec.ignoreDifferences`, of the system's (argocd-cm:
 * `resource.customizations.ignoreDifferences.<group>_<Kind>`, `.all`, and the older nested form), or of `spec.ignore.rules`
 * of the Agent document.
 */
struct config_ignore {
        const char *place;             /* "shop.yaml:12" */
        const char *name;              /* for people: "ignoreDifferences" */
        struct str group, kind;        /* globs (base/glob.h); an empty group is the core group alone */
        struct str ns, object, application; /* globs; empty: any */
        const struct field_path *paths; /* as in ownership rules; only of the Agent's */
        size_t path_count;
        const struct pointer *pointers;
        size_t pointer_count;
        const struct config_program *programs;
        size_t program_count;
        bool aggregated;               /* only roles that gather others' rules (aggregationRule) */
        const char *const *managers;   /* whose fields are theirs: yielded, as a rule of ownership would. With paths: those at
                                        * and below them only */
        size_t manager_count;
};

struct config_ignores {
        const struct config_ignore *rules;
        size_t count;
};

/* Argo CD's knownTypeFields: a field of custom kinds that holds a type of Kubernetes. */
struct config_known_field {
        struct str group, kind; /* globs */
        struct known_field field;
        const char *place;      /* NULL: built in */
};

struct config_known_fields {
        const struct config_known_field *fields;
        size_t count;
};

/* A health rule of the user's, in Lua. */
struct config_health {
        struct str group, kind; /* globs */
        struct lua_source lua;
        bool open_libs;         /* with the further libraries of Argo CD's useOpenLibs */
        struct config_place place;
};

struct config_healths {
        const struct config_health *rules;
        size_t count;
};

/* Where manifests of an application come from. */
struct config_source {
        struct config_place place;
        struct str title;          /* before names of its files where there are several sources; empty: it is the only one */
        struct str repo_url;       /* normalised, never with credentials */
        struct str path;           /* folder, "." is the root */
        struct str revision;       /* branch, tag, commit, range of versions or "HEAD" */
        bool recurse;
        struct str include, exclude;
        bool any_extension;
        const struct config_repository *repository; /* NULL: no credentials; config_settle() */
};

struct config_app {
        struct str name;
        bool name_is_guessed;      /* from flags without a name: two of them may mean one by accident */
        struct str ns;             /* metadata.namespace of the Application; may be empty */
        struct str instance;       /* what stands in tracking ids: name; ns_name when ns is neither the agent's nor the
                                    * control namespace (config_settle()) */
        struct config_place place;

        struct config_source *sources; /* in order: of two with one object the later one counts */
        size_t source_count;           /* 1 at least */
        bool from_flags;               /* the operator's own command line: may name a folder of this machine */

        struct str destination_namespace; /* default for objects without one; may be empty */
        bool create_namespace;
        struct str namespace_text;        /* what managedNamespaceMetadata makes of that namespace, an object as JSON; empty:
                                           * there is none, or another application's counts */
        struct config_place namespace_place;

        bool automated;            /* false: detect-only, a sync is started by hand */
        bool prune;
        bool self_heal;
        bool allow_empty;
        bool prune_disabled;       /* syncOptions Prune=false: nothing of this application is ever pruned */
        enum kube_propagation prune_propagation; /* syncOptions PrunePropagationPolicy; DEFAULT: none is set */
        bool report_extra;         /* annotation truce.dev/extra-paths: report */
        bool suspended;            /* annotation argocd.argoproj.io/skip-reconcile: "true" */
        struct config_retry retry;

        bool respect_ignores;          /* syncOptions RespectIgnoreDifferences=true: ignored at sync, too */
        struct config_ignores own_ignores; /* spec.ignoreDifferences */
        struct config_ignores ignores;     /* these and the system's; config_settle() */
        struct config_rules own_rules; /* annotation truce.dev/ownership of the document */
        struct policy policy;          /* own_rules, then the agent's; config_settle() */

        struct str project_name;
        const struct config_project *project;       /* NULL: no limits */
        struct manifest_filter filter;              /* argocd-cm's; config_settle() */
        struct config_known_fields known_fields;    /* argocd-cm's; config_settle() */
};

/* What becomes of what people's tools add to an object that is healed (design §6.8). */
enum config_extra_paths { CONFIG_EXTRA_REMOVE, CONFIG_EXTRA_REPORT };

/* Leader election (agent/leader.h); auto: where the credentials are the pod's own account. */
enum config_election { CONFIG_ELECTION_AUTO, CONFIG_ELECTION_ON, CONFIG_ELECTION_OFF };

/* Settings of the whole agent: kind Agent, and the flags of the same names. */
struct config_agent {
        struct str installation_id;    /* a legal label value; "": the same as `ns` */
        struct str ns;                 /* where truce keeps its inventory */
        struct str control_ns;         /* applications of this namespace go by their bare name, as Argo CD's own do */
        struct str kubeconfig;         /* empty: $KUBECONFIG, in-cluster, ~/.kube/config */
        struct str context;
        struct str config_ns;          /* Application objects and the like of this namespace are read; empty: none are */
        struct str config_selector;    /* those that carry these labels; empty: all */
        struct str health_dir;         /* folder of health rules, <group>/<Kind>/health.lua; empty: none */
        struct str data_dir;           /* where Git stores lie; a verb fills in its default and makes it absolute */
        int64_t poll_ms;
        int64_t git_timeout_ms;        /* one Git operation */
        struct str git_ca;             /* PEM file for Git servers; empty: the system's */
        int64_t workers;               /* pool threads for rendering and diffs */
        int64_t git_workers;
        int64_t apply_parallel;        /* writes in flight; the transport sends 15 at most (kube/curl_transport.h) */
        struct str listen;             /* host:port of /healthz /readyz /metrics; empty: none */
        int election;                  /* enum config_election */
        int64_t lease_ms;              /* duration of the Lease; whole seconds count */
        int64_t prune_max_count;       /* budget of one prune, sync/prune.h */
        int64_t prune_max_percent;
        bool prune_budget;             /* false: no budget */
        int extra_paths;               /* enum config_extra_paths */
        int64_t fight_turns;           /* of own/fight.h, with the three below */
        int64_t fight_window_ms;
        int64_t fight_pause_ms;
        int64_t fight_max_pause_ms;
        int64_t max_override_ms;       /* no lease of a person lasts longer (agent/lease.h) */
        int64_t replicas_hold_ms;      /* how long replicas stay as they are after their scaler went (design §6.5) */
        bool allow_file_repositories;  /* file:// in Application documents */
        bool allow_own;                /* Git may name truce's own objects */
        bool adopt_argocd;             /* take over objects that carry the tracking id of an Argo CD application of the
                                        * same name (migration) */
        bool strict_yaml;
        bool events;                   /* Kubernetes Events about objects (agent/events.h) */
        int lws_controller;            /* enum groups_mode (agent/groups.h) */
        const struct value *ignores_value; /* spec.ignore.rules as it stands there */
        const struct value *rules_value;  /* spec.ownership.rules as it stands there */
        struct config_rules rules;        /* the same, read */
        int log_level;                 /* enum log_level */
        int log_format;                /* enum log_format */
};

/* The rows for struct config_agent: flags of `truce run` and keys of the Agent document's spec. */
extern const struct option_def config_agent_options[];
extern const size_t config_agent_option_count;

/* A JSON Schema (draft-07) of the Agent document, in the arena. */
const struct value *config_agent_schema(struct arena *a);

/* One application from flags. */
struct config_app_flags {
        struct str name, repo, path, revision, ns;
        struct str include, exclude;
        bool recurse;
        bool create_namespace;
        bool no_sync;                  /* --detect-only */
        bool self_heal;
        bool prune;
        bool allow_empty;
        struct str username, password_file;
};

extern const struct option_def config_app_options[];
extern const size_t config_app_option_count;

enum config_severity {
        CONFIG_NOTICE,
        CONFIG_WARNING, /* it is used, and most likely not what was meant */
        CONFIG_REFUSED,
        CONFIG_ERROR,
};

/* What there is to tell about the documents, in the order of the files. REFUSED names an application in `app`. */
struct config_problem {
        enum config_severity severity;
        struct config_place place;
        struct str app;
        struct str message;
};

/* A key that has no meaning here. */
struct config_irrelevant {
        struct config_place place;
        struct str app; /* whose it is; empty: no application's */
        struct str key;
};

struct config {
        struct config_agent agent;
        struct config_app *apps;             /* usable ones, by namespace and name */
        size_t app_count;
        struct config_repository *repositories;
        size_t repository_count;
        struct config_ca *cas;
        size_t ca_count;
        struct config_project *projects;
        size_t project_count;
        struct config_ignores ignores;       /* of argocd-cm and of the Agent, for all applications */
        struct manifest_filter filter;       /* of argocd-cm: resource.exclusions, resource.inclusions */
        struct mask_annotations mask;        /* of argocd-cm: resource.sensitive.mask.annotations */
        struct config_known_fields known_fields; /* of argocd-cm, behind those that are built in */
        struct config_healths healths;       /* the user's health rules: of argocd-cm, and once settled of the folder, too */
        struct health_rules *health;         /* these and the bundled ones; config_settle() */
        struct config_irrelevant *irrelevant; /* all together make one of the notices */
        size_t irrelevant_count;
        struct config_problem *problems;
        size_t problem_count;
        size_t refused_count;                /* applications with a REFUSED problem, not in `apps` */
        size_t document_count;               /* that were read, of whatever kind */
        struct arena *arena;
        unsigned users;                      /* the last config_free() frees it */
};

/* One more user, who calls config_free(): a job on a pool thread may outlive the agent that began it. Loop thread. */
struct config *config_ref(struct config *c);
void config_free(struct config *c);
DEFINE_CLEANUP(struct config *, config_free)

/* A configuration with defaults and no applications. */
struct config *config_new(void);

/*
 * Reads files and folders (*.yaml *.yml *.json directly in them, names that begin with "." left out) into a fresh
 * configuration, whose `agent` starts from its defaults. On success problems may hold notices and refusals. INVAL when
 * there is an error in a document: then ret_config is given all the same, with no applications, so that every problem
 * can be shown (config_problem_print()); the message names the first and how many there are. NOTFOUND, FORBIDDEN, LIMIT
 * for files: ret_config is then untouched.
 */
int config_load(const struct str *paths, size_t count, struct config **ret_config, struct err *err);

/* A document that is no file's. */
struct config_document {
        struct str name; /* stands for the file in messages: "Application argocd/shop" */
        struct str text; /* JSON, one object; it has no lines */
};

struct config_documents {
        const struct config_document *items;
        size_t count;
};

/* As config_load(), with the documents behind those of the files; copied. NULL: none. */
int config_load_with(const struct str *paths, size_t count, const struct config_documents *documents,
                     struct config **ret_config, struct err *err);

/* All text of a file, at most CONFIG_MAX_FILE_BYTES. NOTFOUND, FORBIDDEN, LIMIT, INVAL (a folder). */
int config_read_file(struct str path, struct arena *a, struct str *ret_text, struct err *err);

/*
 * What tells whether config_load() of these paths would read something else: names, sizes, times and places of the
 * files, and who may read them. What cannot be looked at counts as well, so this never fails.
 */
struct hash128 config_stamp(const struct str *paths, size_t count);

/* As config_load() for one text, which is called `file` in messages. For tests and fuzzing. */
int config_load_text(struct str text, struct str file, struct config **ret_config, struct err *err);

/*
 * Adds the application that the flags describe. INVAL for a missing --repo, a bad path, or a name that is taken.
 * file:// and plain paths are allowed here: the command line is the operator's own. --password-file is read.
 */
int config_add_flags(struct config *c, const struct config_app_flags *flags, struct err *err);

/*
 * As config_stamp(), of a folder of health rules; empty: there is none.
 */
struct hash128 config_health_stamp(struct str dir);

/*
 * Sets the credentials, projects and instance names of all applications and checks them against `agent` (file
 * repositories, installation id), and reads and compiles health rules: call after flags were parsed over c->agent.
 * Applications that fail are refused, not used; a rule that fails is an error among the problems.
 */
void config_settle(struct config *c);

/* Is it of the Agent document, not one of Argo CD's? */
bool config_ignore_is_own(const struct config_ignore *rule);

/* The known fields of one kind. */
const struct known_field *config_known_fields_of(const struct config_app *app, struct str group, struct str kind,
                                                 struct arena *a, size_t *ret_count);

/* Has any ignore rule a jq program? */
bool config_has_programs(const struct config *c);

/*
 * After config_settle(): applications of which a program does not compile are refused; of a program of the system's an
 * error is added. Waits for a worker (agent/jq.h) to say so, some 20 ms a program. Errors of jq_check().
 */
int config_check_programs(struct config *c, struct err *err);

/*
 * Argo CD's choice for an application of a project: the repository's own Secret, that of the project before that of all;
 * where it has no credentials, or there is none, the template with the longest prefix. NULL: none.
 */
const struct config_repository *config_find_repository(const struct config *c, struct str url, struct str project);
/* Has the project a repository Secret of its own for the URL? That permits it the repository. */
bool config_has_repository_of(const struct config *c, struct str url, struct str project);

/* By the name of a server, in any case. NULL: those of all. */
const struct config_ca *config_find_ca(const struct config *c, struct str host);

/* The application by name, or "namespace/name"; NULL when there is none. */
const struct config_app *config_find_app(const struct config *c, struct str name);

/* "namespace/name" or "name": how an application is called in problems. */
struct str config_app_title(struct str ns, struct str name, struct arena *a);

/* "file:line: message"; without the line where there are none. */
void config_problem_print(const struct config_problem *p, struct buf *out);

/* What the application's project and the agent's own protection forbid, as manifest/ takes it. Borrows from c. */
struct manifest_protection config_protection(const struct config *c, const struct config_app *app);

#endif
