/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `truce status` shows of an application: a small JSON text beside its inventory. It is written when it says
 * something new, never by the clock.
 *
 *   application, ref, commit, subject   what is in force, or was last
 *   revisions                           of several sources, in their place (but for commit, which then is all commits with
 *                                       "+" between): source, repo, path, ref, commit, subject of each
 *   applied                             the commit that was written to the cluster last; not the one that was compared
 *   sync                                Synced, OutOfSync; Unknown while the newest commit cannot be compared with
 *   error                               why it cannot be, or why Git cannot be read; absent: all is well
 *   config                              why the newest configuration is not in force, but the one before; absent: it is
 *   health, healthMessage               Healthy, Progressing …, and who is to blame; absent: it was never known
 *   counts, objects                     synced/all/failed, all
 *   repo, path, namespace               where it is from and where it goes
 *   fights                              fields that are left alone for a while as somebody fights over them; a text each
 *   reports                             paths that somebody should decide on, a line each; absent: none
 *   kept                                paths that an override or a hold keeps for a while, a line each; absent: none
 *   changed                             when any of this became different, in ms
 */
#include "agent/agent_impl.h"

#include "base/json.h"
#include "diff/text.h"

#define ERROR_MAX_BYTES (8 * 1024)
#define REPORTS_MAX 5
#define SUBJECT_MAX_BYTES 60 /* of each of several sources: a status is small */

static const char *const copied[] = { "ref",  "commit", "subject",   "counts",  "objects", "revisions",
                                      "repo", "path",   "namespace", "reports", "kept",    "health",
                                      "healthMessage" };

static void add_text(struct value_map_builder *b, struct arena *a, const char *key, struct str text) {
        value_map_add(b, str_from(key), value_string(a, text, 0), 0);
}

/* It may quote what stands in a file: bytes that are no text would make the status unreadable. */
static void add_error(struct value_map_builder *b, struct arena *a, const struct err *err) {
        _cleanup_(buf_done) struct buf safe = buf_make(ERROR_MAX_BYTES);

        text_add(&safe, str_from(err->msg));
        if (err->code)
                add_text(b, a, "error", buf_str(&safe));
}

static void add_config(struct value_map_builder *b, struct arena *a, const struct agent *agent) {
        _cleanup_(buf_done) struct buf safe = buf_make(ERROR_MAX_BYTES);

        if (!agent->config_trouble)
                return;
        text_add(&safe, str_from(agent->config_trouble));
        add_text(b, a, "config", buf_str(&safe));
}

static void add_reports(struct value_map_builder *b, struct arena *a, const struct app *app, size_t count) {
        _cleanup_(buf_done) struct buf lines = buf_make(ERROR_MAX_BYTES);

        app_reports(app, REPORTS_MAX, &lines);
        if (count > REPORTS_MAX)
                buf_addf(&lines, "\n%zu more", count - REPORTS_MAX);
        if (lines.n)
                add_text(b, a, "reports", buf_str(&lines));
}

static void add_kept(struct value_map_builder *b, struct arena *a, const struct app *app) {
        _cleanup_(buf_done) struct buf lines = buf_make(ERROR_MAX_BYTES);

        app_kept(app, REPORTS_MAX, &lines);
        if (lines.n)
                add_text(b, a, "kept", buf_str(&lines));
}

/* Nothing is in force: what was stays written, as the way back to it. */
static void add_last(struct value_map_builder *b, const struct value *old) {
        for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
                const struct value *v = value_getc(old, copied[i]);

                if (v)
                        value_map_add(b, str_from(copied[i]), v, 0);
        }
}

static void add_fights(struct value_map_builder *b, const struct entry *e, struct arena *a) {
        const struct value *lines = app_fight_lines(e->app, a);

        if (value_count(lines))
                value_map_add(b, STR("fights"), lines, 0);
}

static void add_commit(struct value_map_builder *b, const struct config_source *source, const struct agent_commit *commit,
                       size_t max_subject, struct arena *a) {
        add_text(b, a, "repo", source->repo_url);
        add_text(b, a, "path", source->path);
        add_text(b, a, "ref", commit->ref);
        add_text(b, a, "subject", str_sub(commit->subject, 0, max_subject));
}

/* That of a single source is told in place, as it always was. */
static void add_revisions(struct value_map_builder *b, const struct entry *e, struct arena *a) {
        const struct agent_revision *r = &e->revision;
        struct value_list_builder list = { 0 };

        add_text(b, a, "commit", r->text);
        if (r->count == 1)
                add_commit(b, &e->config->sources[0], &r->commits[0], SIZE_MAX, a);
        for (size_t i = 0; r->count > 1 && i < r->count; i++) {
                struct value_map_builder one = { 0 };

                add_text(&one, a, "source", e->config->sources[i].title);
                add_commit(&one, &e->config->sources[i], &r->commits[i], SUBJECT_MAX_BYTES, a);
                add_text(&one, a, "commit", str_from(r->commits[i].id));
                value_list_add(&list, value_map_end(&one, a, 0));
        }
        if (r->count > 1)
                value_map_add(b, STR("revisions"), value_list_end(&list, a, 0), 0);
}

/* Until it is known, it is what it was. */
static void add_health(struct value_map_builder *b, const struct entry *e, const struct value *old, struct arena *a) {
        _cleanup_(buf_done) struct buf safe = buf_make(ERROR_MAX_BYTES);
        struct str word = value_text(value_getc(old, "health")), message = value_text(value_getc(old, "healthMessage"));
        struct app_health h;

        app_health(e->app, &h);
        if (h.is_known) {
                text_add(&safe, app_health_message(e->app, a));
                word = str_from(health_name(h.code));
                message = buf_str(&safe);
        }
        if (word.n)
                add_text(b, a, "health", word);
        if (message.n)
                add_text(b, a, "healthMessage", arena_str(a, message));
}

static void add_in_force(struct value_map_builder *b, const struct entry *e, const struct value *old, struct arena *a) {
        struct app_counts c;

        app_counts(e->app, &c);
        add_revisions(b, e, a);
        add_text(b, a, "counts", arena_strf(a, "%zu/%zu/%zu", c.synced, c.objects, c.failed + c.refused + c.parked));
        value_map_add(b, STR("objects"), value_int(a, (int64_t)c.objects, 0), 0);
        add_reports(b, a, e->app, c.reported);
        add_kept(b, a, e->app);
        add_text(b, a, "namespace", e->config->destination_namespace);
        add_fights(b, e, a);
        add_health(b, e, old, a);
}

static bool has_the_same(const struct value *x, const struct value *y, const char *key) {
        const struct value *was = value_getc(x, key), *is = value_getc(y, key);

        return was == is || (was && is && value_equal(was, is));
}

/*
 * But for health. Texts of which each is all there is to tell; the subject and the number of objects follow from commit
 * and counts.
 */
static bool tells_the_same(const struct value *x, const struct value *y) {
        static const char *const keys[] = { "commit", "applied", "sync", "counts", "error", "config",
                                            "repo",   "path",    "namespace", "reports", "kept" };

        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                if (!str_eq(value_text(value_getc(x, keys[i])), value_text(value_getc(y, keys[i]))))
                        return false;
        }
        return value_is(x, VALUE_MAP) && has_the_same(x, y, "fights") && has_the_same(x, y, "revisions");
}

static bool has_the_same_health(const struct value *x, const struct value *y) {
        return has_the_same(x, y, "health") && has_the_same(x, y, "healthMessage");
}

/* The old text stays as long as it tells the same: `changed` is when it last became different. */
void entry_status(struct entry *e, struct str old_text, struct buf *out) {
        static const char *const words[] = { "Unknown", "Synced", "OutOfSync" };
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct value *old = NULL;
        struct value_map_builder b = { 0 };

        if (old_text.n)
                json_parse(old_text, a, &old, NULL);
        add_text(&b, a, "application", e->config->name);
        if (e->revision.count)
                add_in_force(&b, e, old, a);
        else
                add_last(&b, old);
        add_text(&b, a, "applied", app_has_applied(e->app) && e->revision.count ? e->revision.text : app_applied_commit(old));
        add_text(&b, a, "sync", str_from(words[agent_sync_status(e->agent, e->app)]));
        add_error(&b, a, &e->err);
        add_config(&b, a, e->agent);
        value_map_add(&b, STR("changed"), value_int(a, loop_wall_ms(e->agent->loop), 0), 0);
        const struct value *now = value_map_end(&b, a, 0);
        if (tells_the_same(old, now) && (has_the_same_health(old, now) || !app_tells_health(e->app)))
                buf_add(out, old_text);
        else
                value_print(now, out);
}

static bool has_objects(const struct inventory *inv) {
        size_t count, known = 0;
        _cleanup_(mem_freep) struct inventory_entry **list = inventory_sorted(inv, &count);

        for (size_t i = 0; i < count; i++)
                known += list[i]->uid != NULL;
        return known;
}

/*
 * A name that was only guessed may be another application's: the same repository, another folder. To go on would delete
 * all that is not in this one.
 */
int entry_check_name(const struct entry *e, struct err *err) {
        _cleanup_(arena_freep) struct arena *a = arena_new(0);
        const struct config_app *c = e->config;
        const struct value *status;

        if (!c->name_is_guessed || !has_objects(app_inventory(e->app)) ||
            json_parse(app_status_text(e->app), a, &status, NULL) < 0 || !value_getc(status, "repo"))
                return 0;
        struct str repo = value_text(value_getc(status, "repo")), path = value_text(value_getc(status, "path")),
                   ns = value_text(value_getc(status, "namespace"));
        if (str_eq(repo, c->sources->repo_url) && str_eq(path, c->sources->path) && str_eq(ns, c->destination_namespace))
                return 0;
        return err_set(err, ERR_INVAL,
                       "there is an application of this name already, from path %.*s of %.*s for namespace \"%.*s\"; is "
                       "this another one, give it a --name of its own; is it the same, changed, --name %.*s says so",
                       STR_FMT(path), STR_FMT(repo), STR_FMT(ns), STR_FMT(c->name));
}

/* One-shot commands tell it themselves, and write it with what they apply. */
void entry_tell_status(struct entry *e) {
        if (e->agent->begun && e->agent->discovered && !e->agent->options.poll_once)
                app_status_changed(e->app);
}

void agent_note_config(struct agent *agent, const char *why) {
        free(agent->config_trouble);
        agent->config_trouble = why ? str_dup(str_from(why)) : NULL;
        for (size_t i = 0; i < agent->count; i++)
                entry_tell_status(&agent->entries[i]);
}

const char *agent_config_trouble(const struct agent *agent) {
        return agent->config_trouble;
}
