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

/* What is told of an address does not depend on the password in it, written as a person would. */
static void check_secret(struct str text, struct arena *a) {
        static const char *const passwords[] = { "s3cret-w0rd", "an0ther-one" };
        struct err errs[2] = { 0 };
        struct git_url urls[2];
        int results[2];

        for (int i = 0; i < 2; i++)
                results[i] = git_url_parse(arena_strf(a, "https://user:%s@%.*s", passwords[i], STR_FMT(text)), a, &urls[i],
                                           &errs[i]);
        HOLDS(results[0] == results[1]);
        if (results[0] < 0)
                HOLDS(strcmp(errs[0].msg, errs[1].msg) == 0);
        else
                HOLDS(str_eq(urls[0].text, urls[1].text));
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
