/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes of a pod: one source each, unique names. */
#include "sandbox/validate_pod.h"

#include <string.h>

#define MODE_TEXT "must be a number between 0 and 0777 (octal), both inclusive"

static const char *const downward_paths[] = { "metadata.name",        "metadata.namespace", "metadata.labels",
                                              "metadata.annotations", "metadata.uid",       NULL };
#define DOWNWARD_LISTED                                                                                                \
        "\"metadata.annotations\", \"metadata.labels\", \"metadata.name\", \"metadata.namespace\", \"metadata.uid\""

static void check_mode(struct check *c, const struct at *at, const struct value *map, const char *field) {
        int64_t mode = 0;

        if (value_to_i64(get(map, field), &mode) && (mode < 0 || mode > 0777))
                fault_invalid_int(c, AT_STR(at, str_from(field)), mode, MODE_TEXT);
}

static bool has_back_step(struct str path) {
        struct str part;

        while (str_next(&path, '/', &part))
                if (str_eqc(part, ".."))
                        return true;
        return false;
}

void check_no_back_step(struct check *c, const struct at *at, struct str path) {
        if (has_back_step(path))
                fault_invalid_str(c, at, path, "must not contain '..'");
}

static void check_local_path(struct check *c, const struct at *at, struct str path) {
        if (str_starts(path, STR("/")))
                fault_invalid_str(c, at, path, "must be a relative path");
        check_no_back_step(c, at, path);
        if (str_starts(path, STR("..")) && !str_starts(path, STR("../")) && !has_back_step(path))
                fault_invalid_str(c, at, path, "must not start with '..'");
}

static void check_needed(struct check *c, const struct at *at, const struct value *map, const char *field) {
        if (!text_of(map, field).n)
                fault_required(c, AT_STR(at, str_from(field)), "");
}

static void check_key_to_path(struct check *c, const struct at *at, const struct value *item) {
        check_needed(c, at, item, "key");
        check_needed(c, at, item, "path");
        check_local_path(c, AT(at, "path"), text_of(item, "path"));
        check_mode(c, at, item, "mode");
}

static void check_keys(struct check *c, const struct at *at, const struct value *items) {
        for (EACH(i, items))
                check_key_to_path(c, AT_INDEX(at, i), item_of(items, i));
}

void check_host_path(struct check *c, const struct at *at, const struct value *source) {
        static const char *const types[] = { "",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
                                             "File", "FileOrCreate", "Socket",     NULL };
        const struct value *type = get(source, "type");

        if (!text_of(source, "path").n) {
                fault_required(c, AT(at, "path"), "");
                return;
        }
        check_no_back_step(c, AT(at, "path"), text_of(source, "path"));
        if (type && !is_one_of(value_text(type), types))
                fault_unsupported(c, AT(at, "type"), value_text(type),
                                  "\"\", \"BlockDevice\", \"CharDevice\", \"Directory\", \"DirectoryOrCreate\", "
                                  "\"File\", \"FileOrCreate\", \"Socket\"");
}

static void check_secret_volume(struct check *c, const struct at *at, const struct value *source) {
        check_needed(c, at, source, "secretName");
        check_mode(c, at, source, "defaultMode");
        check_keys(c, AT(at, "items"), get(source, "items"));
}

static void check_config_map_volume(struct check *c, const struct at *at, const struct value *source) {
        check_needed(c, at, source, "name");
        check_mode(c, at, source, "defaultMode");
        check_keys(c, AT(at, "items"), get(source, "items"));
}

void check_nfs(struct check *c, const struct at *at, const struct value *source) {
        check_needed(c, at, source, "server");
        check_needed(c, at, source, "path");
        if (!str_starts(text_of(source, "path"), STR("/")))
                fault_invalid_str(c, AT(at, "path"), text_of(source, "path"), "must be an absolute path");
}

static void check_claim(struct check *c, const struct at *at, const struct value *source) {
        check_needed(c, at, source, "claimName");
}

static void check_downward_file(struct check *c, const struct at *at, const struct value *file) {
        check_needed(c, at, file, "path");
        check_local_path(c, AT(at, "path"), text_of(file, "path"));
        if (get(file, "fieldRef")) {
                check_field_ref(c, AT(at, "fieldRef"), get(file, "fieldRef"), downward_paths, DOWNWARD_LISTED);
                if (get(file, "resourceFieldRef"))
                        fault_invalid_str(c, at, STR("resource"),
                                          "fieldRef and resourceFieldRef can not be specified simultaneously");
        } else if (get(file, "resourceFieldRef"))
                check_resource_ref(c, AT(at, "resourceFieldRef"), get(file, "resourceFieldRef"), true);
        else
                fault_required(c, at, "one of fieldRef and resourceFieldRef is required");
        check_mode(c, at, file, "mode");
}

static void check_downward(struct check *c, const struct at *at, const struct value *source) {
        const struct value *items = get(source, "items");

        check_mode(c, at, source, "defaultMode");
        for (EACH(i, items))
                check_downward_file(c, at, item_of(items, i));
}

static void check_token(struct check *c, const struct at *at, const struct at *token_at, const struct value *token) {
        int64_t seconds = 0;
        struct str path = text_of(token, "path");

        if (!value_to_i64(get(token, "expirationSeconds"), &seconds))
                fault_required(c, AT(token_at, "expirationSeconds"), "");
        else if (seconds < 600)
                fault_invalid_int(c, AT(token_at, "expirationSeconds"), seconds,
                                  "may not specify a duration less than 10 minutes");
        else if (seconds > INT64_C(1) << 32)
                fault_invalid_int(c, AT(token_at, "expirationSeconds"), seconds,
                                  "may not specify a duration larger than 2^32 seconds");
        if (!path.n)
                fault_required(c, AT(at, "path"), "");
        else
                check_local_path(c, AT(at, "path"), path);
}

/* Paths that projected sources have put into the volume. */
struct taken {
        struct str *items;
        size_t count, max;
};

static void take_path(struct check *c, const struct at *at, struct taken *t, struct str path, struct str shown) {
        if (!path.n)
                return;
        for (size_t i = 0; i < t->count; i++)
                if (str_eq(t->items[i], path)) {
                        fault_invalid_str(c, at, shown, "conflicting duplicate paths");
                        return;
                }
        if (t->count < t->max)
                t->items[t->count++] = path;
}

static void check_projected_keys(struct check *c, const struct at *at, const struct at *part_at,
                                 const struct value *part, struct taken *t) {
        const struct value *items = get(part, "items");

        check_needed(c, part_at, part, "name");
        for (EACH(i, items)) {
                check_key_to_path(c, AT_INDEX(AT(part_at, "items"), i), item_of(items, i));
                take_path(c, at, t, text_of(item_of(items, i), "path"), text_of(part, "name"));
        }
}

static void check_projection(struct check *c, const struct at *at, const struct at *source_at,
                             const struct value *source, struct taken *t) {
        const struct value *files = value_path(source, "downwardAPI", "items", NULL);
        size_t sources = 0;

        if (get(source, "secret") && ++sources)
                check_projected_keys(c, at, AT(source_at, "secret"), get(source, "secret"), t);
        if (get(source, "configMap") && ++sources)
                check_projected_keys(c, at, AT(source_at, "configMap"), get(source, "configMap"), t);
        sources += get(source, "downwardAPI") != NULL;
        for (EACH(i, files)) {
                check_downward_file(c, AT(source_at, "downwardAPI"), item_of(files, i));
                take_path(c, at, t, text_of(item_of(files, i), "path"), text_of(item_of(files, i), "path"));
        }
        if (get(source, "serviceAccountToken") && ++sources)
                check_token(c, at, AT(source_at, "serviceAccountToken"), get(source, "serviceAccountToken"));
        if (sources > 1)
                fault_forbidden(c, source_at, "may not specify more than 1 volume type per source");
}

static void check_projected(struct check *c, const struct at *at, const struct value *source) {
        const struct value *sources = get(source, "sources");
        struct str paths[256];
        struct taken taken = { .items = paths, .max = sizeof paths / sizeof *paths };

        check_mode(c, at, source, "defaultMode");
        for (EACH(i, sources))
                check_projection(c, at, AT_INDEX(AT(at, "sources"), i), item_of(sources, i), &taken);
}

static void check_ephemeral(struct check *c, const struct at *at, const struct value *source) {
        const struct value *template = get(source, "volumeClaimTemplate");

        if (!template)
                fault_required(c, AT(at, "volumeClaimTemplate"), "");
        else
                check_pvc_spec(c, AT(AT(at, "volumeClaimTemplate"), "spec"), get(template, "spec"));
}

void check_csi_driver(struct check *c, const struct at *at, struct str name) {
        struct text_faults f = text_faults(TEXT_DNS_SUBDOMAIN, text_lower(name, c->a), c->a);

        if (!name.n) {
                fault_required(c, at, "");
                return;
        }
        if (name.n > 63)
                fault_too_long(c, at, 63);
        for (size_t i = 0; i < f.count; i++)
                fault_invalid_str(c, at, name, f.items[i].p);
}

static void check_csi(struct check *c, const struct at *at, const struct value *source) {
        check_csi_driver(c, AT(at, "driver"), text_of(source, "driver"));
}

static const struct {
        const char *field;
        void (*check)(struct check *c, const struct at *at, const struct value *source);
} sources[] = {
        { "emptyDir", NULL },
        { "hostPath", check_host_path },
        { "gitRepo", NULL },
        { "gcePersistentDisk", NULL },
        { "awsElasticBlockStore", NULL },
        { "secret", check_secret_volume },
        { "nfs", check_nfs },
        { "iscsi", NULL },
        { "glusterfs", NULL },
        { "flocker", NULL },
        { "persistentVolumeClaim", check_claim },
        { "rbd", NULL },
        { "cinder", NULL },
        { "cephfs", NULL },
        { "quobyte", NULL },
        { "downwardAPI", check_downward },
        { "fc", NULL },
        { "flexVolume", NULL },
        { "configMap", check_config_map_volume },
        { "azureFile", NULL },
        { "vsphereVolume", NULL },
        { "photonPersistentDisk", NULL },
        { "portworxVolume", NULL },
        { "azureDisk", NULL },
        { "storageos", NULL },
        { "projected", check_projected },
        { "scaleIO", NULL },
        { "csi", check_csi },
        { "ephemeral", check_ephemeral },
        { "image", NULL },
};

static void check_source(struct check *c, const struct at *at, const struct value *volume) {
        const struct value *limit = value_path(volume, "emptyDir", "sizeLimit", NULL);
        size_t found = 0;

        if (limit && quantity_of(limit) < 0)
                fault_forbidden(c, AT(AT(at, "emptyDir"), "sizeLimit"),
                                "SizeLimit field must be a valid resource quantity");
        for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
                const struct value *source = get(volume, sources[i].field);
                const struct at *source_at = AT_STR(at, str_from(sources[i].field));

                if (!source)
                        continue;
                if (found++)
                        fault_forbidden(c, source_at, "may not specify more than 1 volume type");
                else if (sources[i].check)
                        sources[i].check(c, source_at, source);
        }
        if (!found)
                fault_required(c, at, "must specify a volume type");
}

const struct value *volume_find(const struct volumes *v, struct str name) {
        for (size_t i = 0; i < v->count; i++)
                if (str_eq(text_of(v->items[i], "name"), name))
                        return v->items[i];
        return NULL;
}

static void check_volume(struct check *c, const struct at *at, const struct value *volume, struct volumes *good) {
        size_t before = c->out->count;
        struct str name = text_of(volume, "name");

        check_source(c, at, volume);
        if (!name.n)
                fault_required(c, AT(at, "name"), "");
        else
                check_text(c, AT(at, "name"), TEXT_DNS_LABEL, name);
        if (volume_find(good, name))
                fault_duplicate_str(c, AT(at, "name"), name);
        if (c->out->count == before)
                good->items[good->count++] = volume;
}

void check_volumes(struct check *c, const struct at *at, const struct value *spec, const struct value *pod_meta,
                   struct volumes *ret) {
        const struct value *volumes = get(spec, "volumes");

        (void)pod_meta;
        ret->count = 0;
        ret->items = arena_alloc(c->a, (value_count(volumes) + 1) * sizeof *ret->items);
        for (EACH(i, volumes))
                check_volume(c, AT_INDEX(at, i), item_of(volumes, i), ret);
}
