/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the configuration: what its readers share.
 */
#ifndef TRUCE_AGENT_CONFIG_IMPL_H
#define TRUCE_AGENT_CONFIG_IMPL_H

#include "agent/config.h"
#include "manifest/document.h"
#include "manifest/sync_options.h"

#define IN_CLUSTER_SERVER "https://kubernetes.default.svc"
#define IN_CLUSTER_NAME "in-cluster"

/* The document at hand. */
struct reader {
        struct config *c;
        struct arena *a;                 /* c->arena */
        const struct manifest_object *o;
        struct str app;                  /* names the application in problems; empty for other documents */
        struct {
                const char *path;            /* "spec.source": stands for an element of a list … */
                const char *shown;           /* "spec.sources[1]": … that is called so */
                const struct value *value;
        } alias;                         /* value NULL: none */
        bool refused;                    /* it holds something that is not implemented */
        bool bad;                        /* it has an error */
        struct str refusal;              /* the first thing that is not implemented, and where */
        struct config_place refusal_place;
};

void reader_error(struct reader *r, uint32_t line, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Known, but not implemented: the document cannot be used. For an Application a REFUSED problem is noted. */
void reader_refuse(struct reader *r, uint32_t line, const char *fmt, ...) PRINTF_LIKE(3, 4);
void reader_notice(struct reader *r, uint32_t line, const char *fmt, ...) PRINTF_LIKE(3, 4);
void reader_warn(struct reader *r, uint32_t line, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A key that means nothing here. */
void reader_irrelevant(struct reader *r, uint32_t line, struct str key);
/* "file:line" of the document at hand, in the arena. */
const char *reader_place(struct reader *r, uint32_t line);
/* Room for one more behind the `n` elements of a list that only this makes. */
void *config_grow(struct config *c, const void *list, size_t n, size_t size);
void config_add_problem(struct config *c, struct config_problem p);

/* config_keys.c: the keys a document may have, with dots for maps; a key whose children are listed is a map. */
struct config_key {
        const char *path;
        enum setting_class class;
        const char *reason; /* LATER: one clause */
};

/*
 * Checks every key of the document, or of the alias, against the table. Values that say "off" (null, false, "", 0,
 * empty) never refuse.
 */
void config_check_keys(struct reader *r, const struct config_key *keys, size_t count);

/* Typed reading, by a path with dots. Absent and null leave *ret as it is; another type is an error. */
const struct value *config_find(const struct reader *r, const char *path);
/* The path as a person knows it: below an alias that of the element. */
const char *config_shown(const struct reader *r, const char *path);
/* Of what is there: the key itself, or the map that lacks it. */
uint32_t config_line(const struct reader *r, const char *path);
void config_text(struct reader *r, const char *path, struct str *ret);
void config_bool(struct reader *r, const char *path, bool *ret);
void config_number(struct reader *r, const char *path, int64_t min, int64_t max, int64_t *ret);
void config_duration(struct reader *r, const char *path, int64_t *ret_ms);

/*
 * The line before the first one of a text: a literal block begins on the line after its "|", any other text on the very
 * line, and of one that is VALUE_FOLDED no other line is known. 0 where there are no lines.
 */
uint32_t config_line_before(const struct value *text);
/* A member of YAML that is the text of a value, with lines of the file. */
struct value_member config_member_in(struct reader *r, const struct value_member *m, uint32_t line_before);

/*
 * YAML that is the text of a value (`key: |`). Lines of the result count from `*ret_line_before` + 1 in the file; of a text
 * that is folded all are its first one. NULL: it is empty, or an error was told, as `where`.
 */
const struct value *config_yaml_in(struct reader *r, const struct value_member *m, const char *where,
                                   uint32_t *ret_line_before);

/* config_kinds.c: a list of `{apiGroups: [], kinds: [], clusters: []}`; those of other clusters are left out. */
const struct manifest_kinds *config_read_kinds(struct reader *r, const struct value_member *m, size_t *ret_count);

/* config_ignore.c: `spec.ignoreDifferences`. */
struct config_ignores config_read_app_ignores(struct reader *r);
/* The rule of argocd-cm for one kind, `value` is the map; lines as above. */
void config_read_system_ignore(struct reader *r, const struct value *value, const char *where, uint32_t line_before,
                               struct str group, struct str kind);

/* `spec.ignore.rules` of the Agent document; NULL: there are none. */
void config_read_agent_ignores(struct reader *r, const struct value *list);

/* Adds a rule for all applications. */
void config_add_ignore(struct config *c, const struct config_ignore *rule);

/* config_known.c: knownTypeFields of a kind; lines as above. */
void config_read_known_fields(struct reader *r, const struct value *list, const char *where, uint32_t line_before,
                              struct str group, struct str kind);
/* What every Argo CD knows. */
void config_add_built_in_known_fields(struct config *c);

/* config_health.c: a script in Lua for a kind; `where` names it in messages. */
void config_read_health(struct reader *r, const struct value_member *m, const char *where, struct str group,
                        struct str kind, bool open_libs);
/* Makes c->health of what was read and of the folder; what fails is an error. */
void config_settle_health(struct config *c);

/* config_ownership.c: a list of ownership rules. `where` names it in messages; its lines stand after `line_before`. */
struct config_rules config_read_rules(struct reader *r, const struct value *list, const char *where,
                                      uint32_t line_before);
/* One rule of spec.ownership.rules, and one of spec.ignore.rules, as JSON Schemas, in the arena. */
const struct value *config_rule_schema(struct arena *a);
const struct value *config_ignore_schema(struct arena *a);
/* The rules in an Application's annotation; unknown annotations of truce are errors. */
struct config_rules config_read_app_rules(struct reader *r);

/* One reader per kind of document; each adds to r->c. */
void config_read_app(struct reader *r);
void config_read_agent(struct reader *r);
void config_read_project(struct reader *r);
void config_read_repository(struct reader *r);
void config_read_configmap(struct reader *r);
/* config_certs.c: the ConfigMaps of these purposes. */
void config_read_tls_certs(struct reader *r);
void config_read_known_hosts(struct reader *r);

/* Appends to c->apps. */
void config_add_app(struct config *c, const struct config_app *app);
void config_add_repository(struct config *c, const struct config_repository *repo);

/* The defaults of an application (Argo CD's retries), and of a source: HEAD, ".". */
struct config_app config_app_default(void);
struct config_source config_source_default(void);

/*
 * Checks and normalises repository and path. UNSUPPORTED for a kind of repository that is known, INVAL for what is wrong.
 * A user and password inside the URL are given back (empty when there are none).
 */
int config_clean_source(struct config_source *source, struct arena *a, struct config_repository *ret_inline,
                        struct err *err);

/* config_file.c: the files that a path stands for: itself, or what lies in the folder, sorted. */
int config_list_files(struct str path, struct arena *a, const struct str **ret_files, size_t *ret_count,
                      struct err *err);

/*
 * The scripts of a folder of health rules, <group>/<Kind>/health.lua or <Kind>/health.lua, sorted; other files do not
 * count.
 */
struct config_script {
        struct str path, group, kind; /* of the last two `_` has become `*` */
};
int config_list_scripts(struct str dir, struct arena *a, const struct config_script **ret_scripts, size_t *ret_count,
                        struct err *err);

#endif
