/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of labels of nodes that others have replaced, wherever a Pod asks for them. */
#include "sandbox/validate_impl.h"
#include "sandbox/warn_impl.h"

static const char *replaced(struct str label) {
        static const struct {
                const char *label, *what;
        } labels[] = {
                { "beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead" },
                { "beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead" },
                { "failure-domain.beta.kubernetes.io/region",
                  "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead" },
                { "failure-domain.beta.kubernetes.io/zone",
                  "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead" },
                { "beta.kubernetes.io/instance-type",
                  "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead" },
                { "app.kubernetes.io/created-by", "deprecated since v1.9" },
                { "scheduler.alpha.kubernetes.io/preferAvoidPods",
                  "deprecated since v1.22; use Taints and Tolerations instead" },
                { "node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead" },
        };

        for (size_t i = 0; i < ARRAY_LEN(labels); i++)
                if (str_eqc(label, labels[i].label))
                        return labels[i].what;
        return NULL;
}

void warn_of_node_label(struct call *c, struct str place, struct str label) {
        const char *what = replaced(label);

        if (what)
                warn_at(c, place, arena_strf(c->a, "%.*s is %s", STR_FMT(label), what).p);
}

static void warn_of_values(struct call *c, struct str place, const struct value *values) {
        for (size_t i = 0; i < value_count(values); i++) {
                struct str value = value_text(warn_item(values, i));
                struct text_faults faults = text_faults(TEXT_LABEL_VALUE, value, c->a);

                for (size_t j = 0; j < faults.count; j++)
                        warn_at(c, PLACE(c, "%.*s.values[%zu]", STR_FMT(place), i),
                                arena_strf(c->a, "%.*s is invalid, %.*s", STR_FMT(value), STR_FMT(faults.items[j])).p);
        }
}

static void warn_of_term(struct call *c, struct str place, const struct value *term, bool values) {
        const struct value *list = value_getc(term, "matchExpressions");

        for (size_t i = 0; i < value_count(list); i++) {
                struct str at = PLACE(c, "%.*s.matchExpressions[%zu]", STR_FMT(place), i);

                warn_of_node_label(c, PLACE(c, "%.*s.key", STR_FMT(at)),
                                   value_text(value_getc(warn_item(list, i), "key")));
                if (values)
                        warn_of_values(c, at, value_getc(warn_item(list, i), "values"));
        }
}

void warn_of_nodes(struct call *c, struct str place, const struct value *spec) {
        static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
        static const char preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";
        const struct value *selector = value_getc(spec, "nodeSelector");
        const struct value *must = value_path(spec, "affinity", "nodeAffinity", required, "nodeSelectorTerms", NULL);
        const struct value *may = value_path(spec, "affinity", "nodeAffinity", preferred, NULL);

        for (size_t i = 0; i < value_count(selector); i++) {
                struct str label = selector->map.members[i].key;

                if (replaced(label))
                        warn_at(c, PLACE(c, "%.*s.nodeSelector[%.*s]", STR_FMT(place), STR_FMT(label)),
                                replaced(label));
        }
        for (size_t i = 0; i < value_count(must); i++)
                warn_of_term(
                        c,
                        PLACE(c, "%.*s.affinity.nodeAffinity.%s.nodeSelectorTerms[%zu]", STR_FMT(place), required, i),
                        warn_item(must, i), false);
        for (size_t i = 0; i < value_count(may); i++)
                warn_of_term(c, PLACE(c, "%.*s.affinity.nodeAffinity.%s[%zu].preference", STR_FMT(place), preferred, i),
                             value_getc(warn_item(may, i), "preference"), true);
}
