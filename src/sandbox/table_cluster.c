/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of Events, Nodes, volumes, definitions, endpoints, classes, webhooks and policies. */
#include "sandbox/table_cells.h"

#define SHOWN_MAX 3 /* of a list of addresses */

static void lower_case(char *s) {
        for (; *s; s++)
                *s |= *s >= 'A' && *s <= 'Z' ? 'a' - 'A' : 0;
}

static void text_or_unknown(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)now;
        text_or(out, table_value(o, path), "<unknown>");
}

static void joined_texts(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)now;
        joined(out, table_value(o, path), "");
}

/* ---- Event ---- */

static const char *const seen_first[] = { "firstTimestamp", "eventTime", NULL };
static const char *const seen_last[] = { "lastTimestamp", "firstTimestamp", "eventTime", NULL };

static void event_age(struct buf *out, const struct value *o, const char *const *fields, now_t *now) {
        const struct value *at = NULL;

        for (; *fields && value_text(at).n == 0; fields++)
                at = table_value(o, *fields);
        table_add_age(out, at, now);
}

static void event_last(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)path;
        if (value_getc(o, "series"))
                age(out, o, "series.lastObservedTime", now);
        else
                event_age(out, o, seen_last, now);
}

static void event_first(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)path;
        event_age(out, o, seen_first, now);
}

static void event_count(struct buf *out, const struct value *o, const char *path, now_t *now) {
        int64_t n = number_at(o, value_getc(o, "series") ? "series.count" : "count");

        (void)path;
        (void)now;
        buf_addf(out, "%" PRId64, n || value_getc(o, "series") ? n : 1);
}

static void event_object(struct buf *out, const struct value *o, const char *path, now_t *now) {
        struct str name = value_text(value_path(o, "involvedObject", "name", NULL));
        char *kind = (char *)arena_str(now->arena, value_text(value_path(o, "involvedObject", "kind", NULL))).p;

        (void)path;
        lower_case(kind);
        value_print_string(arena_strf(now->arena, "%s%s%.*s", kind, name.n ? "/" : "", STR_FMT(name)), out);
}

static struct str one_of_two(const struct value *o, const char *first, const char *second) {
        struct str text = value_text(table_value(o, first));

        return text.n ? text : value_text(table_value(o, second));
}

static void event_source(struct buf *out, const struct value *o, const char *path, now_t *now) {
        struct str component = one_of_two(o, "source.component", "reportingComponent");
        struct str instance = one_of_two(o, "source.host", "reportingInstance");

        (void)path;
        value_print_string(
                arena_strf(now->arena, "%.*s%s%.*s", STR_FMT(component), instance.n ? ", " : "", STR_FMT(instance)),
                out);
}

static void event_message(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)now;
        value_print_string(str_trim(value_text(table_value(o, path))), out);
}

/* ---- Node ---- */

static void node_status(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *list = value_path(o, "status", "conditions", NULL);
        const char *status = "Unknown";

        (void)path;
        (void)now;
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (str_eqc(value_text(value_getc(list->list.items[i], "type")), "Ready"))
                        status = str_eqc(value_text(value_getc(list->list.items[i], "status")), "True") ? "Ready"
                                                                                                        : "NotReady";
        buf_addf(out, "\"%s%s\"", status,
                 value_truth(value_path(o, "spec", "unschedulable", NULL), false) ? ",SchedulingDisabled" : "");
}

static void node_roles(struct buf *out, const struct value *o, const char *path, now_t *now) {
        _cleanup_(buf_done) struct buf t = buf_make(4 * KIB);
        const struct value *labels = value_path(o, "metadata", "labels", NULL);

        (void)path;
        (void)now;
        for (size_t i = 0; value_is(labels, VALUE_MAP) && i < labels->map.count; i++) {
                struct str prefix = STR("node-role.kubernetes.io/"), key = labels->map.members[i].key;

                if (str_starts(key, prefix))
                        buf_addf(&t, "%s%.*s", t.n ? "," : "", STR_FMT(str_sub(key, prefix.n, key.n)));
        }
        if (t.n == 0)
                buf_addc(&t, "<none>");
        string(out, &t);
}

/* `path`: the type of address. */
static void node_address(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *list = value_path(o, "status", "addresses", NULL), *found = NULL;

        (void)now;
        for (size_t i = 0; !found && value_is(list, VALUE_LIST) && i < list->list.count; i++)
                if (str_eqc(value_text(value_getc(list->list.items[i], "type")), path))
                        found = value_getc(list->list.items[i], "address");
        text_or(out, found, "<none>");
}

static void node_kernel(struct buf *out, const struct value *o, const char *path, now_t *now) {
        struct str kernel = value_text(table_value(o, "status.nodeInfo.kernelVersion"));
        struct str machine = value_text(table_value(o, "status.nodeInfo.architecture"));

        (void)path;
        value_print_string(arena_strf(now->arena, "%.*s%s%.*s%s", STR_FMT(kernel.n ? kernel : STR("<unknown>")),
                                      machine.n ? " (" : "", STR_FMT(machine), machine.n ? ")" : ""),
                           out);
}

/* ---- volumes ---- */

static void phase(struct buf *out, const struct value *o, const char *path, now_t *now) {
        if (value_path(o, "metadata", "deletionTimestamp", NULL))
                buf_addc(out, "\"Terminating\"");
        else
                text(out, o, path, now);
}

static void access_modes(struct buf *out, const struct value *o, const char *path, now_t *now) {
        static const char *const modes[][2] = {
                { "ReadWriteOnce", "RWO" },
                { "ReadOnlyMany", "ROX" },
                { "ReadWriteMany", "RWX" },
                { "ReadWriteOncePod", "RWOP" },
        };
        _cleanup_(buf_done) struct buf t = buf_make(KIB);
        const struct value *list = table_value(o, path);

        (void)now;
        for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
                bool has = false;

                for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                        has |= str_eqc(value_text(list->list.items[i]), modes[m][0]);
                if (has)
                        buf_addf(&t, "%s%s", t.n ? "," : "", modes[m][1]);
        }
        string(out, &t);
}

static void capacity(struct buf *out, const struct value *o, const char *path, now_t *now) {
        (void)now;
        text_or(out, table_value(o, path), "0");
}

/* Capacity and modes of a claim are shown when it has a volume. */
static void claim_capacity(struct buf *out, const struct value *o, const char *path, now_t *now) {
        if (value_text(table_value(o, "spec.volumeName")).n)
                capacity(out, o, path, now);
        else
                buf_addc(out, "\"\"");
}

static void claim_modes(struct buf *out, const struct value *o, const char *path, now_t *now) {
        access_modes(out, value_text(table_value(o, "spec.volumeName")).n ? o : NULL, path, now);
}

static void volume_claim(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *ref = table_value(o, path);

        if (!ref)
                buf_addc(out, "\"\"");
        else
                value_print_string(arena_strf(now->arena, "%.*s/%.*s",
                                              STR_FMT(value_text(value_getc(ref, "namespace"))),
                                              STR_FMT(value_text(value_getc(ref, "name")))),
                                   out);
}

/* The annotation is older than the field and goes first. */
static void storage_class_of(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *old =
                value_path(o, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class", NULL);

        (void)path;
        (void)now;
        text_or(out, old ? old : table_value(o, "spec.storageClassName"), "");
}

static void class_name(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const char *const default_mark = "ingressclass.kubernetes.io/is-default-class";
        bool is_default = str_eqc(value_text(value_path(o, "metadata", "annotations", default_mark, NULL)), "true");

        value_print_string(arena_strf(now->arena, "%.*s%s", STR_FMT(value_text(table_value(o, path))),
                                      is_default ? " (default)" : ""),
                           out);
}

static void class_parameters(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *ref = table_value(o, path);
        struct str group = value_text(value_getc(ref, "apiGroup"));

        if (!ref)
                buf_addc(out, "\"<none>\"");
        else
                value_print_string(arena_strf(now->arena, "%.*s%s%.*s/%.*s",
                                              STR_FMT(value_text(value_getc(ref, "kind"))), group.n ? "." : "",
                                              STR_FMT(group), STR_FMT(value_text(value_getc(ref, "name")))),
                                   out);
}

/* ---- endpoints ---- */

struct points {
        struct buf text;
        size_t count;
};

static void add_point(struct points *p, struct str text) {
        if (p->count++ < SHOWN_MAX)
                buf_addf(&p->text, "%s%.*s", p->text.n ? "," : "", STR_FMT(text));
}

static void end_points(struct buf *out, struct points *p) {
        if (p->count == 0)
                buf_addc(&p->text, "<unset>");
        if (p->count > SHOWN_MAX)
                buf_addf(&p->text, " + %zu more...", p->count - SHOWN_MAX);
        string(out, &p->text);
        buf_done(&p->text);
}

static void slice_ports(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *list = table_value(o, path);
        struct points p = { .text = buf_make(4 * KIB) };

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                const struct value *port = value_getc(list->list.items[i], "port");
                struct str name = value_text(value_getc(list->list.items[i], "name"));

                add_point(&p, value_is(port, VALUE_INT) ? arena_strf(now->arena, "%" PRId64, port->i64)
                              : name.n                  ? name
                                                        : STR("*"));
        }
        end_points(out, &p);
}

static void slice_endpoints(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *list = table_value(o, path);
        struct points p = { .text = buf_make(4 * KIB) };

        (void)now;
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                const struct value *addresses = value_getc(list->list.items[i], "addresses");

                for (size_t k = 0; value_is(addresses, VALUE_LIST) && k < addresses->list.count; k++)
                        add_point(&p, value_text(addresses->list.items[k]));
        }
        end_points(out, &p);
}

/* ---- ResourceQuota ---- */

/* `path`: "limits" for what is limited by limits.…, else the rest. */
static void quota(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *hard = value_path(o, "status", "hard", NULL);
        _cleanup_(buf_done) struct buf t = buf_make(64 * KIB);

        (void)now;
        for (size_t i = 0; value_is(hard, VALUE_MAP) && i < hard->map.count; i++) {
                const struct value_member *m = &hard->map.members[i];
                struct str used = value_text(value_get(value_path(o, "status", "used", NULL), m->key));

                if (str_starts(m->key, STR("limits.")) == (*path != '\0'))
                        buf_addf(&t, "%s%.*s: %.*s/%.*s", t.n ? ", " : "", STR_FMT(m->key),
                                 STR_FMT(used.n ? used : STR("0")), STR_FMT(value_text(m->value)));
        }
        string(out, &t);
}

/* ---- owners and definitions ---- */

/* "deployment.apps/web" */
static void controller(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *list = value_path(o, "metadata", "ownerReferences", NULL);
        struct str text = STR("<none>"), version, group;

        (void)path;
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                const struct value *owner = list->list.items[i];

                if (!value_truth(value_getc(owner, "controller"), false))
                        continue;
                char *kind = (char *)arena_str(now->arena, value_text(value_getc(owner, "kind"))).p;
                lower_case(kind);
                version = value_text(value_getc(owner, "apiVersion"));
                ptrdiff_t slash = str_find(version, '/', 0);
                group = slash < 0 ? (struct str){ 0 } : str_sub(version, 0, (size_t)slash);
                text = arena_strf(now->arena, "%s%s%.*s/%.*s", kind, group.n ? "." : "", STR_FMT(group),
                                  STR_FMT(value_text(value_getc(owner, "name"))));
        }
        value_print_string(text, out);
}

static void definition_versions(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *list = table_value(o, path);
        _cleanup_(buf_done) struct buf t = buf_make(64 * KIB);

        (void)now;
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                const struct value *v = list->list.items[i];

                if (value_truth(value_getc(v, "served"), false))
                        buf_addf(&t, "%s%.*s%s", t.n ? "," : "", STR_FMT(value_text(value_getc(v, "name"))),
                                 value_truth(value_getc(v, "storage"), false) ? "(storage)" : "");
        }
        string(out, &t);
}

static void definition_names(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *list = table_value(o, path);

        (void)now;
        if (value_count(list))
                joined(out, list, "");
        else
                buf_addc(out, "\"\"");
}

static void definition_established(struct buf *out, const struct value *o, const char *path, now_t *now) {
        const struct value *list = table_value(o, path);
        bool is_established = false;

        (void)now;
        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++)
                is_established |= str_eqc(value_text(value_getc(list->list.items[i], "type")), "Established") &&
                                  str_eqc(value_text(value_getc(list->list.items[i], "status")), "True");
        buf_addc(out, is_established ? "true" : "false");
}

/* ---- columns ---- */

COLUMNS(event, { "Last Seen", "string", 0, event_last, "" }, { "Type", "string", 0, text, "type" },
        { "Reason", "string", 0, text, "reason" }, { "Object", "string", 0, event_object, "" },
        { "Subobject", "string", 1, text, "involvedObject.fieldPath" }, { "Source", "string", 1, event_source, "" },
        { "Message", "string", 0, event_message, "message" }, { "First Seen", "string", 1, event_first, "" },
        { "Count", "string", 1, event_count, "" }, { "Name", "string", 1, text, "metadata.name" });
COLUMNS(node, { "Status", "string", 0, node_status, "" }, { "Roles", "string", 0, node_roles, "" }, AGE,
        { "Version", "string", 0, text, "status.nodeInfo.kubeletVersion" },
        { "Internal-IP", "string", 1, node_address, "InternalIP" },
        { "External-IP", "string", 1, node_address, "ExternalIP" },
        { "OS-Image", "string", 1, text_or_unknown, "status.nodeInfo.osImage" },
        { "Kernel-Version", "string", 1, node_kernel, "" },
        { "Container-Runtime", "string", 1, text_or_unknown, "status.nodeInfo.containerRuntimeVersion" });
COLUMNS(claim, { "Status", "string", 0, phase, "status.phase" }, { "Volume", "string", 0, text, "spec.volumeName" },
        { "Capacity", "string", 0, claim_capacity, "status.capacity.storage" },
        { "Access Modes", "string", 0, claim_modes, "status.accessModes" },
        { "StorageClass", "string", 0, storage_class_of, "" },
        { "VolumeAttributesClass", "string", 0, text_or_unset, "spec.volumeAttributesClassName" }, AGE,
        { "VolumeMode", "string", 1, text_or_unset, "spec.volumeMode" });
COLUMNS(volume, { "Capacity", "string", 0, capacity, "spec.capacity.storage" },
        { "Access Modes", "string", 0, access_modes, "spec.accessModes" },
        { "Reclaim Policy", "string", 0, text, "spec.persistentVolumeReclaimPolicy" },
        { "Status", "string", 0, phase, "status.phase" }, { "Claim", "string", 0, volume_claim, "spec.claimRef" },
        { "StorageClass", "string", 0, storage_class_of, "" },
        { "VolumeAttributesClass", "string", 0, text_or_unset, "spec.volumeAttributesClassName" },
        { "Reason", "string", 0, text, "status.reason" }, AGE,
        { "VolumeMode", "string", 1, text_or_unset, "spec.volumeMode" });
COLUMNS(storage_class, { "Provisioner", "string", 0, text, "provisioner" },
        { "ReclaimPolicy", "string", 0, text, "reclaimPolicy" },
        { "VolumeBindingMode", "string", 0, text, "volumeBindingMode" },
        { "AllowVolumeExpansion", "string", 0, boolean, "allowVolumeExpansion" }, AGE);
COLUMNS(ingress_class, { "Name", "string", 0, class_name, "metadata.name" },
        { "Controller", "string", 0, text, "spec.controller" },
        { "Parameters", "string", 0, class_parameters, "spec.parameters" }, AGE);
COLUMNS(endpoint_slice, { "AddressType", "string", 0, text, "addressType" },
        { "Ports", "string", 0, slice_ports, "ports" }, { "Endpoints", "string", 0, slice_endpoints, "endpoints" },
        AGE);
COLUMNS(resource_quota, { "Request", "string", 0, quota, "" }, { "Limit", "string", 0, quota, "limits" }, AGE);
COLUMNS(revision, { "Controller", "string", 0, controller, "" }, { "Revision", "string", 0, number, "revision" }, AGE);
COLUMNS(runtime_class, { "Handler", "string", 0, text, "handler" }, AGE);
COLUMNS(webhooks, { "Webhooks", "integer", 0, count, "webhooks" }, AGE);
COLUMNS(service_cidr, { "CIDRs", "string", 0, joined_texts, "spec.cidrs" }, AGE);
COLUMNS(definition, { "Scope", "string", 0, text, "spec.scope" },
        { "Versions", "string", 0, definition_versions, "spec.versions" },
        { "Created At", "date", 0, text, "metadata.creationTimestamp" }, { "Group", "string", 1, text, "spec.group" },
        { "Kind", "string", 1, text, "spec.names.kind" },
        { "ShortNames", "string", 1, definition_names, "spec.names.shortNames" },
        { "Established", "boolean", 1, definition_established, "status.conditions" });

static const struct table_kind kinds[] = {
        { "", "Event", event, true },
        { "", "Node", node, false },
        { "", "PersistentVolume", volume, false },
        { "", "PersistentVolumeClaim", claim, false },
        { "", "ResourceQuota", resource_quota, false },
        { "admissionregistration.k8s.io", "MutatingWebhookConfiguration", webhooks, false },
        { "admissionregistration.k8s.io", "ValidatingWebhookConfiguration", webhooks, false },
        { "apiextensions.k8s.io", "CustomResourceDefinition", definition, false },
        { "apps", "ControllerRevision", revision, false },
        { "discovery.k8s.io", "EndpointSlice", endpoint_slice, false },
        { "events.k8s.io", "Event", event, true },
        { "networking.k8s.io", "IngressClass", ingress_class, true },
        { "networking.k8s.io", "ServiceCIDR", service_cidr, false },
        { "node.k8s.io", "RuntimeClass", runtime_class, false },
        { "storage.k8s.io", "StorageClass", storage_class, false },
};

const struct table_kind *table_cluster_find(struct str group, struct str kind) {
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                if (str_eqc(kind, kinds[i].kind) && str_eqc(group, kinds[i].group))
                        return &kinds[i];
        return NULL;
}
