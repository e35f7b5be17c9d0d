/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Go's types would read as the same is made the same: a template written by hand, one that went through upstream's
 * types (which print `creationTimestamp: null`, `resources: {}`, `status: {}`) and one that a full schema filled in.
 */
#include "group/payload_impl.h"

#include "group/revision.h"

/* Maps that say nothing when they are empty; others do (`emptyDir`, `namespaceSelector`). */
static const char *const void_when_empty[] = {
        "affinity", "annotations",  "labels",   "limits",    "matchLabels",     "metadata",
        "overhead", "nodeSelector", "requests", "resources", "securityContext", "status",
};

/* What the schema of a pod template adds where nothing is said. */
static const struct filled {
        const char *in, *key, *text;
} filled[] = {
        { "ports", "protocol", "TCP" },
        { "grpc", "service", "" },
};

static bool is_void(struct str key, const struct value *v) {
        if (v->kind == VALUE_LIST)
                return v->list.count == 0;
        if (v->kind != VALUE_MAP || v->map.count)
                return false;
        for (size_t i = 0; i < ARRAY_LEN(void_when_empty); i++)
                if (str_eqc(key, void_when_empty[i]))
                        return true;
        return false;
}

static bool is_filled(struct str in, struct str key, const struct value *v) {
        for (size_t i = 0; i < ARRAY_LEN(filled); i++)
                if (str_eqc(in, filled[i].in) && str_eqc(key, filled[i].key) && v->kind == VALUE_STRING &&
                    str_eqc(v->text, filled[i].text))
                        return true;
        return false;
}

static bool is_left_out(struct str in, struct str key, const struct value *v) {
        return v->kind == VALUE_NULL || (str_eqc(in, "metadata") && str_eqc(key, "creationTimestamp")) ||
               is_filled(in, key, v);
}

/* A quantity that is written as a number is the one that is written as its text. */
static bool is_number_of_quantity(struct str in, const struct value *v) {
        return (str_eqc(in, "limits") || str_eqc(in, "requests")) &&
               (v->kind == VALUE_INT || v->kind == VALUE_UINT || v->kind == VALUE_DECIMAL);
}

static const struct value *clean(const struct value *v, struct str in, struct arena *a);

static const struct value *clean_map(const struct value *v, struct str in, struct arena *a) {
        struct value_map_builder b = { 0 };

        for (size_t i = 0; i < v->map.count; i++) {
                const struct value_member *m = &v->map.members[i];

                if (is_left_out(in, m->key, m->value))
                        continue;
                const struct value *kept = clean(m->value, m->key, a);
                if (is_number_of_quantity(in, kept))
                        kept = value_string(a, value_canonical(a, kept), 0);
                if (!is_void(m->key, kept))
                        value_map_add(&b, m->key, kept, 0);
        }
        return value_map_end(&b, a, 0);
}

static const struct value *clean_list(const struct value *v, struct str in, struct arena *a) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < v->list.count; i++)
                value_list_add(&b, clean(v->list.items[i], in, a));
        return value_list_end(&b, a, 0);
}

/* `in` is the key that the value stands under; the items of a list stand under that of the list. */
static const struct value *clean(const struct value *v, struct str in, struct arena *a) {
        switch (v->kind) {
        case VALUE_MAP:
                return clean_map(v, in, a);
        case VALUE_LIST:
                return clean_list(v, in, a);
        default:
                return value_dup(a, v);
        }
}

/* A claim's status is what became of one claim, never what is asked for. */
static const struct value *without_status(const struct value *claims, struct arena *a) {
        struct value_list_builder b = { 0 };

        for (size_t i = 0; i < claims->list.count; i++)
                value_list_add(&b, value_is(claims->list.items[i], VALUE_MAP)
                                           ? value_with(a, claims->list.items[i], STR("status"), NULL)
                                           : claims->list.items[i]);
        return value_list_end(&b, a, 0);
}

const struct value *payload_clean(const struct value *v, struct arena *a) {
        return clean(value_is(v, VALUE_LIST) ? without_status(v, a) : v, STR(""), a);
}

/* Stored in pods' labels and in names of ControllerRevisions: never to be changed. */
struct str payload_hash(const struct value *payload, struct arena *a) {
        static const struct hash_key key = { 0x7472756365206772, 0x6f7570732072766e };
        char hex[HASH128_HEX_BYTES + 1];

        hash128_hex(hash128(&key, value_canonical(a, payload)), hex);
        return arena_str(a, (struct str){ hex, GROUP_HASH_BYTES });
}
