/* SPDX-License-Identifier: Apache-2.0 */
/* Field selectors: which fields a kind can be selected by, and the grammar. */
#include "sandbox/selector.h"

static const struct {
        const char *group, *kind, *fields; /* separated by blanks, framed by them */
        const char *refusal;               /* before the field's name */
} selectable[] = {
        { "", "Pod",
          " metadata.name metadata.namespace spec.nodeName spec.restartPolicy spec.schedulerName "
          "spec.serviceAccountName spec.hostNetwork status.phase status.podIP status.podIPs status.nominatedNodeName ",
          NULL },
        { "", "Node", " metadata.name spec.unschedulable ", NULL },
        { "", "ReplicationController", " metadata.name metadata.namespace status.replicas ", NULL },
        { "", "Event",
          " involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid "
          "involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason "
          "reportingComponent source type metadata.namespace metadata.name ",
          NULL },
        { "events.k8s.io", "Event",
          " regarding.kind regarding.namespace regarding.name regarding.uid regarding.apiVersion "
          "regarding.resourceVersion regarding.fieldPath reason reportingController type metadata.namespace "
          "metadata.name ",
          NULL },
        { "", "Namespace", " status.phase metadata.name ", NULL },
        { "", "Secret", " type metadata.namespace metadata.name ", NULL },
        { "", "Service", " metadata.namespace metadata.name spec.clusterIP spec.type ", NULL },
        { "batch", "Job", " metadata.name metadata.namespace status.successful ", "Job" },
        { "certificates.k8s.io", "CertificateSigningRequest", " metadata.name spec.signerName ", NULL },
};

static bool is_known(const char *fields, struct str field, struct arena *a) {
        return str_contains(str_from(fields), arena_strf(a, " %.*s ", STR_FMT(field)));
}

static bool is_selectable_custom(const struct kind *kind, struct str field) {
        const struct value *list = kind->selectable_fields;

        for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
                struct str path = value_text(value_getc(list->list.items[i], "jsonPath"));

                if (path.n && str_eq(str_sub(path, 1, path.n), field))
                        return true;
        }
        return false;
}

static int check_field(const struct kind *kind, struct str field, struct arena *a, struct err *err) {
        for (size_t i = 0; i < ARRAY_LEN(selectable); i++) {
                if (!str_eqc(kind->resource->group, selectable[i].group) ||
                    !str_eqc(kind->resource->kind, selectable[i].kind))
                        continue;
                if (is_known(selectable[i].fields, field, a))
                        return 0;
                if (selectable[i].refusal)
                        return err_set(err, ERR_INVAL, "field label \"%.*s\" not supported for %s", STR_FMT(field),
                                       selectable[i].refusal);
                return err_set(err, ERR_INVAL, "field label not supported: %.*s", STR_FMT(field));
        }
        if (str_eqc(field, "metadata.name") || (kind->resource->namespaced && str_eqc(field, "metadata.namespace")))
                return 0;
        if (kind->is_custom) {
                if (is_selectable_custom(kind, field))
                        return 0;
                return err_set(err, ERR_INVAL, "field label not supported: %.*s", STR_FMT(field));
        }
        if (str_eqc(field, "metadata.namespace"))
                return 0;
        return err_set(err, ERR_INVAL,
                       "\"%.*s\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                       STR_FMT(field));
}

/* Events are stored as the core group has them. */
static struct str stored_field(const struct kind *kind, struct str field, struct arena *a) {
        static const struct str regarding = { "regarding.", 10 };

        if (!str_eqc(kind->resource->group, "events.k8s.io"))
                return field;
        if (str_eqc(field, "reportingController"))
                return STR("reportingComponent");
        return str_starts(field, regarding)
                       ? arena_strf(a, "involvedObject.%.*s", STR_FMT(str_sub(field, regarding.n, field.n)))
                       : field;
}

static int unescape(struct str s, struct arena *a, struct str *ret, struct err *err) {
        char *out = arena_alloc(a, s.n + 1);
        size_t n = 0;

        for (size_t i = 0; i < s.n; i++) {
                if (s.p[i] == ',' || s.p[i] == '=')
                        return err_set(err, ERR_INVAL, "invalid field selector: unescaped character in value: %d",
                                       s.p[i]);
                if (s.p[i] == '\\' && (++i == s.n || !strchr("\\,=", s.p[i])))
                        return err_set(err, ERR_INVAL, "invalid field selector: invalid escape sequence: \\%.*s",
                                       i < s.n ? 1 : 0, i < s.n ? &s.p[i] : "");
                out[n++] = s.p[i];
        }
        out[n] = '\0';
        *ret = (struct str){ out, n };
        return 0;
}

static bool split_term(struct str term, struct field_requirement *ret) {
        for (size_t i = 0; i < term.n; i++) {
                struct str rest = str_sub(term, i, term.n);
                size_t n = str_starts(rest, STR("!=")) || str_starts(rest, STR("==")) ? 2 : rest.p[0] == '=';

                if (n == 0)
                        continue;
                ret->field = str_sub(term, 0, i);
                ret->differs = rest.p[0] == '!';
                ret->value = str_sub(rest, n, rest.n);
                return true;
        }
        return false;
}

/* Up to the next comma that is not escaped. */
static struct str next_term(struct str *rest) {
        size_t i = 0;

        while (i < rest->n && rest->p[i] != ',')
                i += rest->p[i] == '\\' ? 2 : 1;
        struct str term = str_sub(*rest, 0, i);
        *rest = str_sub(*rest, i + 1, rest->n);
        return term;
}

int select_parse_fields(struct str text, struct arena *a, struct selector *ret, struct err *err) {
        struct field_requirement *items = arena_alloc(a, (text.n + 1) / 2 * sizeof *items);
        size_t count = 0;

        for (struct str rest = text; rest.n;) {
                struct field_requirement *q = &items[count];
                struct str term = next_term(&rest);

                if (term.n == 0)
                        continue;
                if (!split_term(term, q))
                        return err_set(err, ERR_INVAL, "invalid selector: '%.*s'; can't understand '%.*s'",
                                       STR_FMT(text), STR_FMT(term));
                int r = unescape(q->value, a, &q->value, err);
                if (r < 0)
                        return r;
                count++;
        }
        ret->fields = items;
        ret->field_count = count;
        return 0;
}

int select_settle_fields(struct selector *s, const struct kind *kind, struct arena *a, struct err *err) {
        struct field_requirement *items = arena_alloc(a, (s->field_count + 1) * sizeof *items);

        for (size_t i = 0; i < s->field_count; i++) {
                int r = check_field(kind, s->fields[i].field, a, err);

                if (r < 0)
                        return r;
                items[i] = s->fields[i];
                items[i].field = stored_field(kind, items[i].field, a);
        }
        s->fields = items;
        return 0;
}

/* Of Events: who reported it, in the older field or the newer one. */
static const struct value *event_source(const struct value *event) {
        const struct value *component = value_path(event, "source", "component", NULL);

        return value_text(component).n ? component : value_getc(event, "reportingComponent");
}

static const struct value *field_value(const struct value *object, struct str field) {
        struct str name;

        if (str_eqc(field, "source"))
                return event_source(object);

        while (object && str_next(&field, '.', &name))
                object = value_get(object, name);
        return object;
}

static bool scalar_equals(const struct value *v, struct str text) {
        char number[24];

        if (!v || v->kind == VALUE_NULL)
                return text.n == 0 || str_eqc(text, "false") || str_eqc(text, "0");
        if (v->kind == VALUE_BOOL)
                return str_eqc(text, v->boolean ? "true" : "false");
        if (v->kind != VALUE_INT)
                return str_eq(value_text(v), text);
        int n = snprintf(number, sizeof number, "%lld", (long long)v->i64);
        return str_eq((struct str){ number, (size_t)n }, text);
}

bool select_field_matches(const struct field_requirement *q, const struct value *object) {
        return scalar_equals(field_value(object, q->field), q->value) != q->differs;
}
