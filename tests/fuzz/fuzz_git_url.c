/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as a repository URL: what is accepted is plain text that means itself when it is parsed again, and neither it
 * nor the message of a refusal holds a password. The same text is read as a path in a tree and as .gitmodules.
 */
#include "fuzz.h"

#include "git/tree.h"
#include "git/url.h"

static void check_accepted(const struct git_url *u, struct arena *a) {
        struct git_url again;

        HOLDS(u->text.n > 0 && str_find(u->text, '\0', 0) < 0);
        if (u->scheme == GIT_URL_FILE)
                return;
        HOLDS(git_url_parse(u->text, a, &again, NULL) == 0);
        HOLDS(str_eq(again.text, u->text) && again.username.n == 0 && again.password.n == 0);
        HOLDS(git_url_same_origin(u, &again));
}

/* Puts a known password into the text, as a person would write it. */
static void check_secret(struct str text, struct arena *a) {
        struct str whole = arena_strf(a, "https://user:s3cret-w0rd@%.*s", STR_FMT(text));
        struct err err = { 0 };
        struct git_url u;

        if (str_contains(text, STR("s3cret-w0rd")))
                return;
        if (git_url_parse(whole, a, &u, &err) < 0)
                HOLDS(!strstr(err.msg, "s3cret-w0rd"));
        else
                HOLDS(!str_contains(u.text, STR("s3cret-w0rd")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct str text = { (const char *)data, n }, path;
        struct arena *a = arena_new(0);
        struct git_url u;

        if (git_url_parse(text, a, &u, NULL) == 0)
                check_accepted(&u, a);
        check_secret(text, a);
        if (tree_clean_path(text, a, &path, NULL) == 0) {
                struct str again;

                HOLDS(tree_clean_path(path, a, &again, NULL) == 0 && str_eq(path, again));
                HOLDS(!str_starts(path, STR("/")) && !str_contains(path, STR("//")) && path.n <= GIT_MAX_PATH_BYTES);
        }
        tree_submodule_url(text, STR("p"), a);
        arena_free(a);
        return 0;
}
