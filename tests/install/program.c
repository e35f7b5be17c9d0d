/* SPDX-License-Identifier: Apache-2.0 */
/* A program that knows only what is installed. */
#include <stdio.h>
#include <string.h>
#include <truce/diff.h>
#include <truce/own.h>

#define LIVE                                                                                                           \
        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\",\"managedFields\":[{"      \
        "\"manager\":\"hpa\",\"operation\":\"Update\",\"subresource\":\"scale\",\"apiVersion\":\"apps/v1\","           \
        "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:spec\":{\"f:replicas\":{}}}}]},\"spec\":{\"replicas\":6}}"

int main(void) {
        struct truce_value *live;
        struct truce_owners *owners;
        char *message;

        if (truce_value_from_json(LIVE, strlen(LIVE), &live, &message) < 0 ||
            truce_owners(live, NULL, "/spec/replicas", &owners, &message) < 0) {
                fprintf(stderr, "%s\n", message);
                return 1;
        }
        printf("%s %s %s %s\n", truce_version(), truce_owners_path(owners), truce_owner_manager(owners, 0),
               truce_owner_subresource(owners, 0));
        truce_owners_free(owners);
        truce_value_free(live);
        return 0;
}
