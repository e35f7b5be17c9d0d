/* SPDX-License-Identifier: Apache-2.0 */
/* Is this a Kubernetes object that truce may apply? */
#include "base/limits.h"
#include "manifest/document_impl.h"
#include "manifest/sync_options.h"

#define NAME_MAX_BYTES 253
#define LABEL_MAX_BYTES 63
#define QUOTED_MAX_BYTES 80

struct str manifest_quoted(struct arena *a, struct str s) {
        _cleanup_(buf_done) struct buf b = buf_make(6 * QUOTED_MAX_BYTES + 8);

        value_print_string(str_sub(s, 0, QUOTED_MAX_BYTES), &b);
        return arena_strf(a, "%s%s", b.p, s.n > QUOTED_MAX_BYTES ? "…" : "");
}

static bool is_lower_alnum(char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alpha(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* RFC 1123 label. */
static bool is_label(struct str s) {
        if (s.n == 0 || s.n > LABEL_MAX_BYTES || !is_lower_alnum(s.p[0]) || !is_lower_alnum(s.p[s.n - 1]))
                return false;
        for (size_t i = 0; i < s.n; i++)
                if (!is_lower_alnum(s.p[i]) && s.p[i] != '-')
                        return false;
        return true;
}

/* RFC 1123 subdomain: labels with dots between. */
static bool is_subdomain(struct str s) {
        struct str rest = s, label;

        if (s.n == 0 || s.n > NAME_MAX_BYTES || s.p[s.n - 1] == '.')
                return false;
        while (str_next(&rest, '.', &label))
                if (!is_label(label))
                        return false;
        return true;
}

static bool is_kind(struct str s) {
        if (s.n == 0 || s.n > LABEL_MAX_BYTES || !is_alpha(s.p[0]))
                return false;
        for (size_t i = 0; i < s.n; i++)
                if (!is_alpha(s.p[i]) && !(s.p[i] >= '0' && s.p[i] <= '9'))
                        return false;
        return true;
}

/*
 * apimachinery's path segment rule: RBAC names hold ":", and the server judges the rest by kind. Control characters and
 * blanks are no server's idea of a name, and would break our inventory's lines.
 */
static bool is_path_segment(struct str s) {
        if (s.n == 0 || s.n > NAME_MAX_BYTES || str_eqc(s, ".") || str_eqc(s, "..") || !str_is_utf8(s))
                return false;
        for (size_t i = 0; i < s.n; i++)
                if (s.p[i] == '/' || s.p[i] == '%' || (unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
                        return false;
        return true;
}

/* Of the key, or of the map that lacks it. */
static uint32_t line_of(const struct value *map, const char *key) {
        const struct value_member *m = value_member_find(map, str_from(key));

        return m ? m->line : map->line;
}

/* YAML reads 1, yes and y as something else than text. */
static const char *quotes_hint(const struct value *v) {
        return v->kind <= VALUE_DECIMAL ? " (put it in quotes)" : "";
}

/* A required string at `key` of a map; empty, with an error, when it is not there. */
static struct str need_string(struct making *m, const struct value *map, const char *path, const char *key) {
        const struct value *v = value_getc(map, key);

        if (!v || value_is(v, VALUE_NULL) || (value_is(v, VALUE_STRING) && v->text.n == 0))
                making_error(m, ERR_INVAL, line_of(map, key), "%s is missing", path);
        else if (!value_is(v, VALUE_STRING))
                making_error(m, ERR_INVAL, line_of(map, key), "%s must be a string, not a %s%s", path,
                             value_kind_name(v->kind), quotes_hint(v));
        return value_text(v);
}

static void split_api_version(struct making *m, struct str text, uint32_t line) {
        ptrdiff_t slash = str_find(text, '/', 0);

        m->o.group = slash >= 0 ? str_sub(text, 0, (size_t)slash) : (struct str){ 0 };
        m->o.version = str_sub(text, (size_t)(slash + 1), text.n);
        if (text.n > 0 && ((slash >= 0 && !is_subdomain(m->o.group)) || !is_label(m->o.version)))
                making_error(m, ERR_INVAL, line, "apiVersion %s is neither \"version\" nor \"group/version\"",
                             manifest_quoted(m->a, text).p);
}

static void check_kind(struct making *m, struct str kind, uint32_t line) {
        m->o.kind = kind;
        if (kind.n > 0 && !is_kind(kind))
                making_error(m, ERR_INVAL, line, "kind %s is not a kind's name", manifest_quoted(m->a, kind).p);
}

static void check_name(struct making *m, const struct value *meta) {
        uint32_t line = line_of(meta, "name");

        if (!value_getc(meta, "name") && value_text(value_getc(meta, "generateName")).n > 0) {
                making_error(m, ERR_INVAL, line_of(meta, "generateName"),
                             "metadata.generateName without metadata.name: each sync would make another object");
                return;
        }
        m->o.name = need_string(m, meta, "metadata.name", "name");
        if (m->o.name.n > 0 && !is_path_segment(m->o.name))
                making_error(m, ERR_INVAL, line, "metadata.name %s is not a legal name",
                             manifest_quoted(m->a, m->o.name).p);
}

static void check_namespace(struct making *m, const struct value *meta) {
        const struct value *v = value_getc(meta, "namespace");
        uint32_t line = line_of(meta, "namespace");

        if (!v || value_is(v, VALUE_NULL))
                return;
        if (!value_is(v, VALUE_STRING)) {
                making_error(m, ERR_INVAL, line, "metadata.namespace must be a string, not a %s%s",
                             value_kind_name(v->kind), quotes_hint(v));
                return;
        }
        m->o.ns = v->text;
        if (v->text.n > 0 && !is_label(v->text))
                making_error(m, ERR_INVAL, line, "metadata.namespace %s is not a legal namespace",
                             manifest_quoted(m->a, v->text).p);
}

bool check_key(struct making *m, const struct value *v) {
        const struct value *meta = value_getc(v, "metadata");

        split_api_version(m, need_string(m, v, "apiVersion", "apiVersion"), line_of(v, "apiVersion"));
        check_kind(m, need_string(m, v, "kind", "kind"), line_of(v, "kind"));
        if (!meta || !value_is(meta, VALUE_MAP)) {
                making_error(m, ERR_INVAL, line_of(v, "metadata"), meta ? "metadata must be a map"
                                                                        : "metadata is missing");
                return false;
        }
        check_name(m, meta);
        check_namespace(m, meta);
        return !m->bad;
}

/* Labels and annotations. */

static void check_string_map(struct making *m, const struct value *meta, const char *key) {
        const struct value *map = value_getc(meta, key);

        if (!map || value_is(map, VALUE_NULL))
                return;
        if (!value_is(map, VALUE_MAP)) {
                making_error(m, ERR_INVAL, line_of(meta, key), "metadata.%s must be a map, not a %s", key,
                             value_kind_name(map->kind));
                return;
        }
        for (size_t i = 0; i < map->map.count; i++) {
                const struct value_member *e = &map->map.members[i];

                if (!value_is(e->value, VALUE_STRING) && !value_is(e->value, VALUE_NULL))
                        making_error(m, ERR_INVAL, e->line, "metadata.%s: the value of %s must be a string, not a %s%s",
                                     key, manifest_quoted(m->a, e->key).p, value_kind_name(e->value->kind),
                                     quotes_hint(e->value));
        }
}

/* Owner references. */

static void check_owner(struct making *m, const struct value *owner) {
        static const char *const needed[] = { "apiVersion", "kind", "name", "uid" };

        for (size_t i = 0; i < ARRAY_LEN(needed); i++)
                if (value_text(value_getc(owner, needed[i])).n == 0)
                        making_error(m, ERR_INVAL, owner->line,
                                     "metadata.ownerReferences: an entry has no %s, the garbage collector would "
                                     "delete the object", needed[i]);
        if (value_truth(value_getc(owner, "controller"), false))
                making_error(m, ERR_INVAL, owner->line,
                             "metadata.ownerReferences names a controller: the object is that controller's to write");
}

static void check_owners(struct making *m, const struct value *meta) {
        const struct value *owners = value_getc(meta, "ownerReferences");

        if (!owners || value_is(owners, VALUE_NULL))
                return;
        if (!value_is(owners, VALUE_LIST)) {
                making_error(m, ERR_INVAL, line_of(meta, "ownerReferences"), "metadata.ownerReferences must be a list");
                return;
        }
        for (size_t i = 0; i < owners->list.count; i++)
                check_owner(m, owners->list.items[i]);
}

/* Annotations that say how to sync. null is "" in the cluster, and here. */

/* An empty one names no hook. */
static void on_hook(struct making *m, const struct value_member *e) {
        if (str_trim(value_text(e->value)).n == 0)
                return;
        making_error(m, ERR_UNSUPPORTED, e->line, "%.*s: hooks are not implemented yet", STR_FMT(e->key));
}

static void on_wave(struct making *m, const struct value_member *e) {
        struct str text = str_trim(value_text(e->value));
        int64_t wave;

        if (str_starts(text, STR("+")))
                text = str_sub(text, 1, text.n);
        if (!str_to_i64(text, &wave))
                making_error(m, ERR_INVAL, e->line, "%.*s must be a whole number", STR_FMT(e->key));
        else if (wave != 0)
                making_error(m, ERR_UNSUPPORTED, e->line, "%.*s: waves are not implemented yet", STR_FMT(e->key));
}

static void on_sync_option(struct making *m, const struct value_member *e, struct str option) {
        const char *reason;

        switch (sync_option_class(option, SYNC_OPTION_OBJECT, &reason)) {
        case SETTING_LATER:
                making_error(m, ERR_UNSUPPORTED, e->line, "sync option %s: %s",
                             manifest_quoted(m->a, option).p, reason);
                break;
        case SETTING_UNKNOWN:
                making_error(m, ERR_INVAL, e->line, "unknown sync option %s%s%s%s", manifest_quoted(m->a, option).p,
                             reason[0] ? ", did you mean " : "", reason, reason[0] ? "?" : "");
                break;
        default:
                break;
        }
}

static void on_sync_options(struct making *m, const struct value_member *e) {
        struct str rest = value_text(e->value), option;

        while (str_next(&rest, ',', &option))
                if (str_trim(option).n > 0)
                        on_sync_option(m, e, str_trim(option));
        m->o.prune_disabled |= sync_options_have(value_text(e->value), "Prune=false") ||
                               sync_options_have(value_text(e->value), "Prune=confirm");
        m->o.delete_disabled |= sync_options_have(value_text(e->value), "Delete=false") ||
                                sync_options_have(value_text(e->value), "Delete=confirm");
}

/* A misspelt one would do nothing, in silence. Documents of Argo CD itself are looked at by who reads them. */
static void on_compare_options(struct making *m, const struct value_member *e) {
        struct str rest = value_text(e->value), option;
        const char *near;

        while (!str_eqc(m->o.group, "argoproj.io") && str_next(&rest, ',', &option)) {
                option = str_trim(option);
                if (!option.n || compare_option_class(option, SYNC_OPTION_OBJECT, &near) != SETTING_UNKNOWN)
                        continue;
                if (str_starts(option, str_from(near)))
                        near = ""; /* it is one, of an Application */
                making_warning(m, e->line, "compare option %s has no effect on an object%s%s%s", manifest_quoted(m->a, option).p,
                               near[0] ? ", did you mean " : "", near, near[0] ? "?" : "");
        }
}

static void on_resource_policy(struct making *m, const struct value_member *e) {
        m->o.keep = annotation_is_word(value_text(e->value), "keep");
}

static void on_flux_prune(struct making *m, const struct value_member *e) {
        m->o.prune_disabled |= annotation_is_word(value_text(e->value), "disabled");
}

static const struct {
        const char *key;
        void (*on)(struct making *m, const struct value_member *e);
} annotations[] = {
        { "argocd.argoproj.io/hook", on_hook },
        { "helm.sh/hook", on_hook },
        { "argocd.argoproj.io/sync-wave", on_wave },
        { "argocd.argoproj.io/sync-options", on_sync_options },
        { "argocd.argoproj.io/compare-options", on_compare_options },
        { "helm.sh/resource-policy", on_resource_policy },
        { "kustomize.toolkit.fluxcd.io/prune", on_flux_prune },
};

static void check_annotations(struct making *m, const struct value *v, const struct value *meta) {
        const struct value *map = value_getc(meta, "annotations");

        for (size_t i = 0; i < ARRAY_LEN(annotations); i++) {
                const struct value_member *e = value_member_find(map, str_from(annotations[i].key));

                if (e && (value_is(e->value, VALUE_STRING) || value_is(e->value, VALUE_NULL)))
                        annotations[i].on(m, e);
        }
        m->o.skip_reconcile = manifest_value_is_skipped(v);
}

/*
 * A Secret is checked here to the end: the server would refuse an unknown field as well, but its answer has to be withheld
 * because it echoes values, and "stringdata" would be shown as it stands.
 */
static void check_secret(struct making *m, const struct value *v) {
        static const char *const fields[] = { "apiVersion", "kind", "metadata", "type", "immutable", "data", "stringData",
                                              "status" };

        for (size_t i = 0; i < v->map.count; i++) {
                const struct value_member *e = &v->map.members[i];
                bool known = false, null = value_is(e->value, VALUE_NULL);

                for (size_t k = 0; k < ARRAY_LEN(fields); k++)
                        known |= str_eqc(e->key, fields[k]);
                if (!known)
                        making_error(m, ERR_INVAL, e->line,
                                     "a Secret has no field %s (it has type, immutable, data and stringData)",
                                     manifest_quoted(m->a, e->key).p);
                else if (str_eqc(e->key, "type") && !null && !value_is(e->value, VALUE_STRING))
                        making_error(m, ERR_INVAL, e->line, "type must be a string, not a %s",
                                     value_kind_name(e->value->kind));
                else if (str_eqc(e->key, "immutable") && !null && !value_is(e->value, VALUE_BOOL))
                        making_error(m, ERR_INVAL, e->line, "immutable must be true or false, not a %s",
                                     value_kind_name(e->value->kind));
        }
}

/* Where it is too deep; NULL: nowhere. `levels` are left for the value and what is in it. */
static const struct value *too_deep(const struct value *v, unsigned levels) {
        const struct value *found = NULL;

        if (!value_count(v))
                return levels || (!value_is(v, VALUE_MAP) && !value_is(v, VALUE_LIST)) ? NULL : v;
        if (!levels)
                return v;
        for (size_t i = 0; !found && i < value_count(v); i++)
                found = too_deep(value_is(v, VALUE_MAP) ? v->map.members[i].value : v->list.items[i], levels - 1);
        return found;
}

static void check_depth(struct making *m, const struct value *v) {
        const struct value *deep = too_deep(v, OBJECT_MAX_DEPTH);

        if (deep)
                making_error(m, ERR_LIMIT, deep->line, "the object nests deeper than %d levels", OBJECT_MAX_DEPTH);
}

void check_object(struct making *m, const struct value *v) {
        const struct value *meta = value_getc(v, "metadata");

        check_depth(m, v);
        check_string_map(m, meta, "labels");
        check_string_map(m, meta, "annotations");
        check_owners(m, meta);
        check_annotations(m, v, meta);
        if (m->o.secret)
                check_secret(m, v);
}
