/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"

#include <stdio.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/verb.h"
#include "diff/text.h"
#include "git/remote.h"
#include "kube/curl_transport.h"

struct shared_flags {
        struct option_list config;
};

static const struct option_def shared_options[] = {
        { .name = "config", .type = OPTION_LIST, .at = offsetof(struct shared_flags, config), .word = "PATH",
          .help = "a file or folder of Application, Agent, AppProject and repository Secret documents; may be given again" },
};
const struct option_group session_flags = { "Configuration", shared_options, ARRAY_LEN(shared_options), NULL };

static const struct config_documents *documents_of(const struct session *s) {
        return s->snapshot ? &s->snapshot->documents : NULL;
}

static void print_help(const char *verb, const struct option_group *groups, size_t count) {
        _cleanup_(buf_done) struct buf out = buf_make(256 * 1024);

        options_help(groups, count, &out);
        cli_print_head(verb);
        fputs(out.p, stdout);
}

void session_say(struct str text) {
        _cleanup_(buf_done) struct buf safe = buf_make(64 * 1024);

        text_add(&safe, text);
        fprintf(stderr, "truce: %s\n", safe.p);
}

static void print_problems(const struct config *c) {
        for (size_t i = 0; i < c->problem_count; i++) {
                _cleanup_(buf_done) struct buf line = buf_make(16 * 1024);

                config_problem_print(&c->problems[i], &line);
                session_say(buf_str(&line));
        }
}

static size_t count_errors(const struct config *c) {
        size_t errors = 0;

        for (size_t i = 0; i < c->problem_count; i++)
                errors += c->problems[i].severity == CONFIG_ERROR;
        return errors;
}

/* Each of its errors has been printed with its place. */
static int bad_configuration(struct err *err) {
        return err_set(err, ERR_INVAL, "the configuration has errors; nothing was done");
}

/* Documents first, then the flags over them: the same arguments are parsed twice. */
static int parse_twice(struct session *s, int argc, char **argv, const struct option_group *own, struct err *err) {
        struct shared_flags shared = { { 0 } };
        struct config_agent first;
        struct option_group groups[] = {
                *own,
                { "Application", config_app_options, config_app_option_count, &s->app_flags },
                option_group_of(&session_flags, &shared),
                { "Agent", config_agent_options, config_agent_option_count, &first },
        };

        if (options_want_help(argc, argv)) {
                print_help(s->verb, groups, ARRAY_LEN(groups));
                s->help = true;
                return 0;
        }
        options_default(groups, ARRAY_LEN(groups), s->arena);
        int r = options_parse(groups, ARRAY_LEN(groups), argc, argv, s->arena, &s->operands, &s->operand_count, err);
        if (r < 0)
                return r;
        if (s->operand_count > s->operand_max)
                return err_set(err, ERR_INVAL, s->operand_max ? "%.*s: 'truce %s' takes one object" : "%.*s: 'truce %s' takes flags only",
                               STR_FMT(s->operands[s->operand_max]), s->verb);

        s->config_paths = shared.config;
        s->stamp = config_stamp(shared.config.items, shared.config.count);
        if (shared.config.count || s->snapshot) {
                r = config_load_with(shared.config.items, shared.config.count, documents_of(s), &s->config, err);
                s->documents_are_bad = r < 0 && s->config;
                if (r < 0)
                        return r;
        } else {
                s->config = config_new();
        }
        groups[3].target = &s->config->agent;
        return options_parse(groups, ARRAY_LEN(groups), argc, argv, s->arena, &s->operands, &s->operand_count, err);
}

/* Two installations never share a namespace, so its name tells them apart when nothing else was said. */
static void default_installation(struct session *s) {
        struct config_agent *agent = &s->config->agent;

        if (agent->installation_id.n == 0)
                agent->installation_id = agent->ns;
}

/* What is said is taken from the working directory. Without a home it stays empty: only copies over http need it. */
static void settle_data_dir(struct session *s) {
        struct str *dir = &s->config->agent.data_dir;
        const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
        _cleanup_(mem_freep) char *here = NULL;

        if (dir->n && dir->p[0] != '/' && (here = getcwd(NULL, 0)))
                *dir = arena_strf(s->config->arena, "%s/%.*s", here, STR_FMT(*dir));
        if (dir->n)
                return;
        if (cache && cache[0] == '/')
                *dir = arena_strf(s->config->arena, "%s/truce/git", cache);
        else if (home && home[0] == '/')
                *dir = arena_strf(s->config->arena, "%s/.cache/truce/git", home);
}

/*
 * Flags that make an application do nothing without one to make: who gives them with documents means something else.
 * --prune and --allow-empty are also a sync's own.
 */
static int check_app_flags(const struct session *s, struct err *err) {
        struct config_app_flags plain;
        struct option_group group = { "", config_app_options, config_app_option_count, &plain };

        options_default(&group, 1, s->arena);
        for (size_t i = 0; i < config_app_option_count; i++) {
                const struct option_def *def = &config_app_options[i];
                const void *is = (const char *)&s->app_flags + def->at, *was = (const char *)&plain + def->at;
                bool same = def->type == OPTION_BOOL ? *(const bool *)is == *(const bool *)was
                                                     : str_eq(*(const struct str *)is, *(const struct str *)was);

                if (same || strcmp(def->name, "prune") == 0 || strcmp(def->name, "allow-empty") == 0 ||
                    (s->takes_revision && strcmp(def->name, "revision") == 0) ||
                    (s->operand_max && strcmp(def->name, "namespace") == 0))
                        continue;
                return err_set(err, ERR_INVAL, "--%s is for an application that --repo makes; documents have their own",
                               def->name);
        }
        return 0;
}

/* Which of their repositories have it is known when Git was asked; for several sources oneshot_open() asks. */
static void set_revision(struct session *s) {
        struct str *own;

        if (!s->takes_revision || s->app_flags.repo.n || !s->app_flags.revision.n)
                return;
        own = arena_alloc(s->arena, (s->config->app_count + 1) * sizeof *own);
        s->revision = s->app_flags.revision;
        s->own_revisions = own;
        for (size_t i = 0; i < s->config->app_count; i++) {
                struct config_app *app = &s->config->apps[i];

                own[i] = app->sources->revision;
                if (app->source_count == 1)
                        app->sources->revision = s->revision;
        }
}

static int check_apps(const struct session *s, struct err *err) {
        if (s->config->app_count || s->apps_optional)
                return 0;
        if (s->config->refused_count)
                return err_set(err, ERR_INVAL, "every Application was refused; see above");
        if (s->snapshot)
                return err_set(err, ERR_INVAL, "of which application? Namespace %.*s holds no Application that is read",
                               STR_FMT(s->config->agent.config_ns));
        return err_set(err, ERR_INVAL, "of which application? Give --repo URL, or --config with an Application in it");
}

/* All that is said by arguments and documents; problems of these are in the configuration. */
static int configure(struct session *s, struct err *err) {
        int r = parse_twice(s, s->argc, s->argv, s->own, err);

        if (r < 0 || s->help)
                return r;
        if (s->app_flags.repo.n) {
                r = config_add_flags(s->config, &s->app_flags, err);
        } else if (s->config->app_count || s->apps_optional) {
                r = check_app_flags(s, err);
        }
        if (r < 0)
                return r;
        default_installation(s);
        settle_data_dir(s);
        s->health_stamp = config_health_stamp(s->config->agent.health_dir);
        config_settle(s->config);
        s->is_settled = true;
        r = config_check_programs(s->config, err);
        if (r == 0 && count_errors(s->config)) {
                s->documents_are_bad = true;
                r = ERR_INVAL;
        }
        return r;
}

/* Files and flags say where the rest is; both together are the configuration. */
static int configure_from_cluster(struct session *s, struct err *err) {
        int r = session_fetch(s, err);

        if (r < 0)
                return r;
        config_free(TAKE_PTR(s->config));
        return configure(s, err);
}

int session_configure(struct session *s, const char *verb, int argc, char **argv, const struct option_group *own,
                      struct err *err) {
        s->verb = verb;
        s->argc = argc;
        s->argv = argv;
        s->own = own;
        s->arena = arena_new(0);
        int r = configure(s, err);

        s->only_files |= r == 0 && s->offline && s->offline->count;
        if (r == 0 && !s->help && s->config->agent.config_ns.n && !s->only_files)
                r = configure_from_cluster(s, err);
        if (s->help || (r < 0 && !s->documents_are_bad))
                return r;
        /* The rest is to come, and what there is to say is said of the whole. */
        if (r == 0 && s->config->agent.config_ns.n && s->only_files)
                return 0;
        print_problems(s->config);
        if (r < 0)
                return bad_configuration(err);
        set_revision(s);
        return check_apps(s, err);
}

static const char *first_error(const struct config *c) {
        _cleanup_(buf_done) struct buf line = buf_make(16 * 1024);

        for (size_t i = 0; i < c->problem_count; i++) {
                if (c->problems[i].severity != CONFIG_ERROR)
                        continue;
                config_problem_print(&c->problems[i], &line);
                break;
        }
        return arena_str(c->arena, buf_str(&line)).p;
}

int session_reread(const struct session *s, struct config_snapshot *snapshot, struct session *ret, struct err *err) {
        int r;

        *ret = (struct session){ .verb = s->verb, .argc = s->argc, .argv = s->argv, .own = s->own,
                                 .operand_max = s->operand_max, .apps_optional = s->apps_optional,
                                 .snapshot = snapshot, .arena = arena_new(0) };
        r = configure(ret, err);
        ret->snapshot = NULL; /* what is read of it is a copy */
        if (ret->documents_are_bad)
                return err_set(err, ERR_INVAL, "%s", first_error(ret->config));
        /* A namespace without Applications is one in which they can be made. */
        return r < 0 || snapshot ? r : check_apps(ret, err);
}

/* Where a Pod finds its account; tests have it elsewhere. */
#define SERVICE_ACCOUNT_DIR_VARIABLE "TRUCE_SERVICE_ACCOUNT_DIR"

static void say_warning(const char *text) {
        _cleanup_(buf_done) struct buf line = buf_make(64 * 1024);

        buf_addf(&line, "warning: %s", text);
        session_say(buf_str(&line));
}

int session_connect(struct session *s, struct err *err) {
        const struct config_agent *agent = &s->config->agent;
        int r = git_init_library(err);

        if (s->transport)
                return r;
        if (r == 0)
                r = kube_config_load(agent->kubeconfig.p, agent->context.p, getenv(SERVICE_ACCOUNT_DIR_VARIABLE), &s->kube, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < s->kube->warning_count; i++)
                say_warning(s->kube->warnings[i]);

        s->loop = loop_new((unsigned)agent->workers, (unsigned)agent->git_workers, err);
        if (!s->loop)
                return ERR_INTERNAL;
        s->transport = kube_curl_transport_new(s->loop, s->kube, "truce/" TRUCE_VERSION, err);
        return s->transport ? 0 : ERR_INVAL;
}

struct fetching {
        struct session *session;
        struct config_cluster *cluster;
};

static void on_fetched(void *ctx) {
        struct fetching *f = ctx;

        if (config_cluster_snapshot(f->cluster) || config_cluster_err(f->cluster)->code)
                loop_stop(f->session->loop);
}

int session_fetch(struct session *s, struct err *err) {
        const struct config_agent *agent = &s->config->agent;
        struct fetching f = { .session = s };
        struct config_snapshot *snapshot;
        int r = session_connect(s, err);

        if (r < 0)
                return r;
        _cleanup_(kube_client_freep) struct kube_client *client = kube_client_new(s->transport, s->loop);
        f.cluster = config_cluster_new(s->loop, client, agent->config_ns, agent->config_selector, on_fetched, &f);
        loop_run(s->loop);
        snapshot = config_cluster_snapshot(f.cluster);
        if (snapshot)
                s->snapshot = config_snapshot_ref(snapshot);
        else
                r = err_set(err, config_cluster_err(f.cluster)->code, "the configuration of namespace %.*s: %s",
                            STR_FMT(agent->config_ns), config_cluster_err(f.cluster)->msg);
        config_cluster_free(f.cluster);
        return r;
}

void session_close(struct session *s) {
        kube_transport_free(s->transport);
        loop_free(s->loop);
        kube_config_free(s->kube);
        config_free(s->config);
        config_snapshot_unref(s->snapshot);
        arena_free(s->arena);
        *s = (struct session){ 0 };
}

int session_fail(const struct err *err) {
        session_say(str_from(err->msg));
        return CLI_ERROR;
}
