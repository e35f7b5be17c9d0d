/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/macro.h"
#include "cli/cli.h"

int cli_version(int argc, char **argv) {
        (void)argc;
        (void)argv;
        printf("truce %s\n", TRUCE_VERSION);
        return CLI_OK;
}
