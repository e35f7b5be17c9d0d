/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `truce test` finds below a folder: cases of ignore rules (cli/suite.h), health rules and their suites, and
 * suites of Argo CD's actions, which are only counted.
 *
 * Folders whose name begins with "." and folders "testdata" are not looked into, nor is what a link leads to; those
 * that were named are.
 *
 * Limits: TEST_MAX_FOLDERS of either kind, TEST_MAX_DEPTH folders deep.
 */
#ifndef TRUCE_CLI_TEST_FIND_H
#define TRUCE_CLI_TEST_FIND_H

#include "base/arena.h"
#include "base/err.h"

#define TEST_MAX_FOLDERS 100000
#define TEST_MAX_DEPTH   32

#define TEST_SCRIPT "health.lua"
#define TEST_SUITE  "health_test.yaml"

/* A folder with a rule, a suite, or both. */
struct test_folder {
        struct str path;        /* ends in NUL */
        struct str group, kind; /* globs, by the names of the folders: "_" stands for "*" */
        bool has_script, has_suite;
        int depth;              /* below the folder that was named */
};

struct test_found {
        struct arena *arena;    /* set before: all of it lives there */
        struct str *cases;      /* folders, sorted */
        size_t case_count, case_cap;
        struct test_folder *folders; /* sorted by path */
        size_t folder_count, folder_cap;
        size_t action_suites;
};

/* Adds what lies in the folder and below it. Errors name the folder; LIMIT. */
int test_find(struct test_found *f, struct str folder, struct err *err);
/* Frees what is outside of the arena. */
void test_found_done(struct test_found *f);

#endif
