/* SPDX-License-Identifier: Apache-2.0 */
#include "known.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
        const char *pattern, *reason;
        unsigned count;
} known[KNOWN_MAX];
static size_t known_count;

static void add(char *line, struct arena *a) {
        char *reason = strstr(line, " # ");

        if (!reason || known_count == KNOWN_MAX) {
                fprintf(stderr, "fidelity: known.txt: %s: %s\n", reason ? "one pattern too many" : "no reason given", line);
                exit(1);
        }
        *reason = '\0';
        known[known_count].pattern = arena_str(a, str_trim(str_from(line))).p;
        known[known_count++].reason = arena_str(a, str_trim(str_from(reason + 3))).p;
}

void known_load(const char *path, struct arena *a) {
        char line[2048];
        FILE *f = fopen(path, "re");

        if (!f) {
                fprintf(stderr, "fidelity: %s cannot be opened\n", path);
                exit(1);
        }
        while (fgets(line, sizeof line, f))
                if (line[0] != '#' && line[0] != '\n')
                        add(line, a);
        fclose(f);
}

bool known_has(const char *line) {
        for (size_t i = 0; i < known_count; i++)
                if (fnmatch(known[i].pattern, line, 0) == 0) {
                        known[i].count++;
                        return true;
                }
        return false;
}

void known_print(void) {
        for (size_t i = 0; i < known_count; i++)
                if (known[i].count)
                        printf("known: %u × %s\n       %s\n", known[i].count, known[i].pattern, known[i].reason);
}
