/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a snapshot is put together: documents become sections (one group version each), sections become the snapshot.
 */
#ifndef TRUCE_KUBE_DISCOVERY_IMPL_H
#define TRUCE_KUBE_DISCOVERY_IMPL_H

#include "base/arena.h"
#include "base/map.h"
#include "kube/discovery.h"

struct section {
        struct str group, version; /* in the builder's arena */
        struct kube_resource *resources;
        size_t count, cap;
        bool stale; /* fill up from the previous snapshot */
        char *why;  /* owned; why it is stale */
};

/* Sections in order of rank. */
struct section_list {
        struct section *sections;
        size_t count, cap;
};

struct kube_discovery {
        unsigned refs;
        struct arena *arena;
        struct kube_resource *resources;
        size_t count, cap;
        struct str *warnings;
        size_t warning_count, warning_cap;
        struct str *lacking; /* groups of which a version could not be read */
        size_t lacking_count, lacking_cap;
        struct map *by_gvk, *by_kind, *by_plural; /* values are struct kube_resource * */
};

struct kube_discovery *discovery_new(void);
void discovery_warn(struct kube_discovery *d, const char *fmt, ...) PRINTF_LIKE(2, 3);

void section_list_done(struct section_list *list);
/* A new, empty section; LIMIT when there are too many. Borrowed until the next one is added. */
int section_add(struct section_list *list, struct arena *a, struct str group, struct str version,
                struct section **ret_section, struct err *err);

enum discovery_document {
        DISCOVERY_AGGREGATED, /* its sections were added */
        DISCOVERY_VERSIONS,   /* an APIVersions: stale core sections were added, one for each version */
        DISCOVERY_GROUPS,     /* an APIGroupList: likewise */
        DISCOVERY_RESOURCES,  /* an APIResourceList: its section was added */
};

/* Reads any discovery document. PARSE or LIMIT. */
int discovery_read(struct kube_discovery *d, struct section_list *list, struct str text,
                   enum discovery_document *ret_document, struct err *err);
/* Fills a section from an APIResourceList and makes it fresh. PARSE when the text is something else. */
int discovery_read_resources(struct kube_discovery *d, struct section *section, struct str text, struct err *err);

/* Moves the sections' resources into the snapshot, fills stale ones up from `previous`, and builds the indexes. */
int discovery_finish(struct kube_discovery *d, struct section_list *list, const struct kube_discovery *previous,
                     struct err *err);

#endif
