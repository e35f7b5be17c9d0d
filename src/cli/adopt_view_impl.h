/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the view of `truce adopt`: adopt_view.c is its frame and its table, adopt_view_paths.c what it says of paths. */
#ifndef TRUCE_CLI_ADOPT_VIEW_IMPL_H
#define TRUCE_CLI_ADOPT_VIEW_IMPL_H

#include "cli/adopt_impl.h"

struct view {
        const struct adopt_report *report;
        const struct adopt_style *style;
        struct buf *out;
        struct arena *arena;
        size_t title_columns, path_columns; /* of what is said of single paths */
};

/* --- adopt_view.c ------------------------------------------------------------------------------------------------ */

const char *view_plural(size_t count, const char *one, const char *many);
/* What asks for attention begins or ends here. */
void view_loud(const struct view *v, bool on);
void view_heading(const struct view *v, const char *text);
/* "deploy/web", and where it is when that is not where the application's objects are. */
void view_add_title(const struct adopt_object *o, struct buf *out);

/* Makes the columns wide enough for the object: for what is said of single paths, or for all its paths. */
void view_measure(struct view *v, const struct adopt_object *o, bool all);

/* --- adopt_view_paths.c ------------------------------------------------------------------------------------------ */

size_t view_count_of(const struct adopt_object *o, enum adopt_matter_kind kind);
size_t view_count_all(const struct view *v, enum adopt_matter_kind kind);
/* Values that change, what stays by a rule, what is odd in Git: each with a heading, when there is any. */
void view_sections(const struct view *v);
/* What goes, and what is to be decided. */
void view_decisions(const struct view *v);
/* Every path of every object. */
void view_paths(const struct view *v);
/* How many are not worth a line each. */
void view_rest(const struct view *v);

#endif
